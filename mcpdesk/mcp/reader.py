"""From the bytes of one HTTP response to one Reply. Never raises, whatever the bytes are."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from mcpdesk.mcp.decoding import BadEncoding, decoder
from mcpdesk.mcp.envelope import read_message
from mcpdesk.mcp.jsontext import BadJson, parse
from mcpdesk.mcp.limits import MAX_MESSAGE_BYTES, MAX_STREAM_BYTES
from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.replies import ErrorReply, Reply, ReplyProblem, ResultReply, Unreadable
from mcpdesk.mcp.sse import EventStream, EventTooBig

__all__ = ["ErrorReply", "Reply", "ReplyProblem", "ResponseReader", "ResultReply", "Unreadable"]

JSON, EVENT_STREAM = "application/json", "text/event-stream"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_AUTHORIZATION = (401, 403)
_BUSY = (429, 503)
_NO_ANSWER = (202, 204, 205)


class ResponseReader:
    """Reads one response to the request `expected_id`, chunk by chunk.

    `headers` are the response's, by lower-case name (or any mapping that ignores case).
    """

    __slots__ = (
        "_body", "_decoder", "_events", "_expected_id", "_limit", "_media_type",
        "_problem", "_reply", "_size", "_status",
    )  # fmt: skip

    def __init__(self, status: int, headers: Mapping[str, str], expected_id: int) -> None:
        self._status = status
        self._expected_id = expected_id
        self._media_type = _media_type(headers.get("content-type", ""))
        self._decoder = decoder(headers.get("content-encoding", ""))
        self._events = EventStream() if self._media_type == EVENT_STREAM else None
        self._limit = MAX_STREAM_BYTES if self._events else MAX_MESSAGE_BYTES
        self._size = 0
        self._body: list[bytes] = []
        self._problem: ReplyProblem | None = None
        self._reply: Reply | None = self._verdict_on_head()

    def feed(self, chunk: bytes) -> bool:
        """Takes bytes as they came (still compressed). True: the answer is complete, stop."""
        if self._reply is None and self._decoder is not None:
            room = self._limit - self._size
            try:
                decoded = self._decoder.decode(chunk, room + 1)
                self._take(decoded[:room])
                self._size += len(decoded)
            except BadEncoding:
                self._reply = self._unreadable(ReplyProblem.ENCODING)
            except EventTooBig:
                self._reply = self._unreadable(ReplyProblem.TOO_BIG)
            if self._size > self._limit and self._reply is None:
                self._reply = self._unreadable(ReplyProblem.TOO_BIG)
        return self._reply is not None

    def finish(self) -> Reply:
        """The reply. Call once, after the last chunk or as soon as `feed` returned True."""
        if self._reply is None and self._events is not None:
            self._read_events(self._events.finish())
            self._problem = self._problem or ReplyProblem.STREAM_ENDED
        elif self._reply is None:
            self._read_body()
        return self._reply or self._unreadable(self._problem or ReplyProblem.NOT_JSONRPC)

    def _verdict_on_head(self) -> Reply | None:
        """What status, media type and encoding decide alone; such a body is not even read."""
        if self._status in _AUTHORIZATION:
            return self._unreadable(ReplyProblem.AUTHORIZATION)
        if self._status in _NO_ANSWER:
            return self._unreadable(ReplyProblem.NO_BODY)
        if self._media_type not in (JSON, EVENT_STREAM):
            return self._unreadable(ReplyProblem.MEDIA_TYPE)
        if self._decoder is None:
            return self._unreadable(ReplyProblem.ENCODING)
        return None

    def _take(self, decoded: bytes) -> None:
        if self._events is None:
            self._body.append(decoded)
        else:
            self._read_events(self._events.feed(decoded))

    def _read_events(self, events: Iterable[bytes]) -> None:
        for data in events:
            if data.strip():
                self._read_message(data, in_stream=True)
            if self._reply is not None:
                return

    def _read_body(self) -> None:
        body = b"".join(self._body)
        if not body.strip():
            self._problem = ReplyProblem.NO_BODY
            return
        self._read_message(body.removeprefix(_BYTE_ORDER_MARK), in_stream=False)
        if body.startswith(_BYTE_ORDER_MARK):
            self._add_note(Note.BYTE_ORDER_MARK)

    def _read_message(self, text: bytes, *, in_stream: bool) -> None:
        """Sets the reply where the message is one; else remembers why it is not."""
        try:
            message, has_duplicates = parse(text)
        except BadJson as bad:
            self._problem = bad.problem
            return
        if not isinstance(message, dict):
            self._problem = ReplyProblem.NOT_JSONRPC
            return
        if in_stream and "method" in message:
            return  # a notification, or a request no server may send here: not for us to answer
        answer = read_message(message, self._expected_id, self._status)
        if isinstance(answer, ReplyProblem):
            self._problem = answer
        elif isinstance(answer, ResultReply) and self._status != 200:
            self._problem = ReplyProblem.HTTP_STATUS
        else:
            self._reply = answer
            if has_duplicates:
                self._add_note(Note.DUPLICATE_KEYS)

    def _add_note(self, note: Note) -> None:
        if isinstance(self._reply, ResultReply | ErrorReply):
            self._reply = replace(self._reply, notes=(*self._reply.notes, note))

    def _unreadable(self, problem: ReplyProblem) -> Unreadable:
        """Where the status already says that there is no answer, the status is the reason."""
        if self._status in _BUSY:
            problem = ReplyProblem.BUSY
        elif self._status not in (200, *_AUTHORIZATION, *_NO_ANSWER):
            problem = ReplyProblem.HTTP_STATUS
        sentence = f"{_SENTENCES[problem]} (HTTP {self._status}, {_named(self._media_type)})."
        return Unreadable(problem, sentence, self._status, self._media_type)


def _media_type(header: str) -> str:
    """Type and subtype in lower case; an absent or unreadable one is an empty string."""
    found = header.partition(";")[0].strip().lower()
    return found if _MEDIA_TYPE.fullmatch(found) else ""


def _named(media_type: str) -> str:
    """The type for a sentence that is kept in clear, where a server may write what it likes."""
    if not media_type:
        return "no media type"
    return media_type if media_type in _COMMON_TYPES else "an uncommon media type"


_COMMON_TYPES = frozenset(
    {
        *(JSON, EVENT_STREAM, "text/html", "text/plain", "text/xml", "application/xml"),
        *("application/xhtml+xml", "application/octet-stream", "application/problem+json"),
    }
)
_SENTENCES = {
    ReplyProblem.AUTHORIZATION: "The server refused the credentials",
    ReplyProblem.BUSY: "The server asked to slow down",
    ReplyProblem.HTTP_STATUS: "The server answered with an error that is not JSON-RPC",
    ReplyProblem.NO_BODY: "The server answered without a body",
    ReplyProblem.MEDIA_TYPE: "The server answered with neither JSON nor an event stream",
    ReplyProblem.ENCODING: "The server used an encoding that was not asked for or is broken",
    ReplyProblem.NOT_UTF8: "The server's answer is not UTF-8",
    ReplyProblem.NOT_JSON: "The server's answer is not JSON",
    ReplyProblem.NOT_JSONRPC: "The server's answer is not a JSON-RPC response",
    ReplyProblem.WRONG_ID: "The server answered another request than the one that was sent",
    ReplyProblem.STREAM_ENDED: "The server ended the stream before the answer",
    ReplyProblem.TOO_BIG: "The server's answer is bigger than 8 MiB or has no end, and was not "
    "kept",
    ReplyProblem.TOO_DEEP: "The server's answer is nested more than 64 levels deep",
}
