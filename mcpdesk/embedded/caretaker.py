"""A small process that outlives the supervisor, and stops what it started when it dies.

It waits for the end of a pipe whose other end only the supervisor holds: that end comes however
the supervisor ended, SIGKILL included, on every POSIX system. It also holds the data folder's lock,
so that the next start waits until the place is clean.
"""

import signal
import subprocess
import sys
from pathlib import Path

from mcpdesk.embedded.locations import CHECKOUT, pid_file
from mcpdesk.embedded.record import Record


class Caretaker:
    """The supervisor's side: keep this object for as long as the processes should live."""

    def __init__(self, data: Path, lock: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mcpdesk.embedded.caretaker", str(data)],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=[lock],
        )

    def ended(self) -> bool:
        """Whether somebody killed it."""
        return self._process.poll() is not None

    def dismiss(self) -> None:
        """Let it go: it stops what is still recorded, which after an orderly end is nothing."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main(data: Path) -> None:
    """Wait for the supervisor's end, then stop what it has recorded."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    sys.stdin.buffer.read()
    pid_file(data).unlink(missing_ok=True)
    Record(data).stop_all()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
