"""Signals as something a loop can wait for, so that none of them cuts a step in half."""

import select
import signal
import socket
from types import FrameType, TracebackType
from typing import Self

_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Counts the requests to stop while entered; each of them, and a child's end, ends a wait."""

    def __init__(self) -> None:
        self.stops = 0

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._old_descriptor = signal.set_wakeup_fd(
            self._writer.fileno(), warn_on_full_buffer=False
        )
        self._old = {number: signal.signal(number, self._count) for number in _STOP}
        self._old[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _wake)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_descriptor)
        self._reader.close()
        self._writer.close()

    def wait(self, seconds: float) -> None:
        """Return after a signal, or after this long."""
        if select.select([self._reader], [], [], seconds)[0]:
            self._reader.recv(4096)

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.stops += 1


def _wake(number: int, frame: FrameType | None) -> None:
    """A handler must exist for the signal to be reported; the loop looks for itself."""
