"""One process that the desk starts, watches and stops, with a log file of its own."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

MAX_LOG_BYTES = 8 * 1024 * 1024
TAIL_LINES = 15
TAIL_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, and how it likes to be stopped."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    # seconds it may take to stop in order, before it is killed
    patience_s: float = 10.0
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Child:
    """A running Command. Its process group is its own: the terminal's Ctrl-C does not reach it."""

    def __init__(self, command: Command, log: Path) -> None:
        self.command = command
        self.log = log
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        bound_log(log)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | command.environment,
                start_new_session=True,
                **command.arguments,
            )

    @property
    def name(self) -> str:
        return self.command.name

    @property
    def pid(self) -> int:
        """The process id, which is the id of its process group too."""
        return self._process.pid

    def ended(self) -> int | None:
        """The exit status once it has ended (negative: killed by that signal), else None."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        """Send the signal this command stops on; nothing when it has ended."""
        if self.ended() is None:
            self._process.send_signal(self.command.stop_signal)

    def kill(self) -> None:
        """End it and what it started, at once."""
        kill_group(self.pid)
        self._process.wait()


def kill_group(pid: int) -> None:
    """SIGKILL for a whole process group; nothing when it is gone."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # macOS says "not permitted" about a group of which only a zombie is left
        return


def bound_log(log: Path) -> None:
    """Move a log that has grown too big aside; one older copy is kept.

    The file is emptied in place, since the process goes on writing at its end.
    """
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log file, for a person to read; empty where there is none."""
    try:
        with log.open("rb") as file:
            return "\n".join(_last(file).splitlines()[-lines:])
    except OSError:
        return ""


def _last(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    return file.read().decode("utf-8", "replace")
