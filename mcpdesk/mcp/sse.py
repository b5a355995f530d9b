"""Server-sent events, incrementally (the WHATWG HTML standard, section 9.2.6), and bounded."""

from collections.abc import Iterator

from mcpdesk.mcp.limits import MAX_MESSAGE_BYTES, MAX_STREAM_LINES

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Lines are split this much at a time: a chunk that was compressed holds millions of them.
_SLICE_BYTES = 64 * 1024


class EventTooBig(ValueError):
    """One event or line is longer than a message may be, or the lines come without end."""


class EventStream:
    """Gives the data of each event as soon as its blank line arrived.

    Event names, ids and retry times mean nothing here (streams are not resumable). Characters may
    be split between chunks: bytes are joined, never decoded.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._lines = 0
        self._skip_line_feed = False
        self._at_start = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that this chunk completes. Raises EventTooBig."""
        for start in range(0, len(chunk), _SLICE_BYTES):
            yield from self._feed(chunk[start : start + _SLICE_BYTES])

    def _feed(self, chunk: bytes) -> Iterator[bytes]:
        if self._skip_line_feed and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._skip_line_feed = False
        if chunk:
            self._skip_line_feed = chunk.endswith(b"\r")
        for piece in chunk.splitlines(keepends=True):
            line = piece.rstrip(b"\r\n")
            self._line += line
            if self._data_bytes + len(self._line) > MAX_MESSAGE_BYTES:
                raise EventTooBig
            if len(line) != len(piece):
                self._lines += 1
                if self._lines > MAX_STREAM_LINES:
                    raise EventTooBig
                yield from self._end_line()

    def finish(self) -> Iterator[bytes]:
        """The data of a last event that no blank line ended."""
        yield from self._end_line()
        yield from self._dispatch()

    def _end_line(self) -> Iterator[bytes]:
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        if not line:
            yield from self._dispatch()
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._data_bytes += len(line)

    def _dispatch(self) -> Iterator[bytes]:
        if self._data:
            yield b"\n".join(self._data)
        self._data = []
        self._data_bytes = 0
