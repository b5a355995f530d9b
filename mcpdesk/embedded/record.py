"""What a desk has started, on disk: so that whoever comes after it can stop what was left behind.

Used by the caretaker the moment a supervisor dies, and by the next start in case both died.
"""

import json
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from mcpdesk.embedded.child import Child, kill_group


@dataclass(frozen=True, slots=True)
class Entry:
    """One started process; ids are used again, so its start time (s since 1970) belongs to it."""

    name: str
    pid: int
    started_at: float
    stop_signal: int
    patience_s: float

    def lives(self) -> bool:
        """Whether this very process still runs."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started_at) < 1.0
            return bool(same and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False


class Record:
    """The entries of one data folder, in the order of their start."""

    def __init__(self, data: Path) -> None:
        self._file = data / "processes.json"

    def write(self, children: Iterable[Child]) -> None:
        """Replace all entries by these processes."""
        entries = [entry for child in children if (entry := _entry(child)) is not None]
        draft = self._file.with_name(f"{self._file.name}.new")
        draft.write_text(json.dumps([asdict(entry) for entry in entries]))
        draft.replace(self._file)

    def read(self) -> list[Entry]:
        """The entries; none where the file is missing or was cut short."""
        try:
            return [Entry(**fields) for fields in json.loads(self._file.read_text())]
        except (FileNotFoundError, ValueError, TypeError):
            return []

    def stop_all(self) -> list[str]:
        """Stop every recorded process that still runs, the first one (the database) last.

        Returns the names of those that had to be stopped.
        """
        left = [entry for entry in self.read() if entry.lives()]
        others = [entry for entry in left if entry.name != "postgres"]
        database = [entry for entry in left if entry.name == "postgres"]
        for group in (others, database):
            _stop(group)
        self._file.unlink(missing_ok=True)
        return [entry.name for entry in left]


def _entry(child: Child) -> Entry | None:
    try:
        started_at = psutil.Process(child.pid).create_time()
    except psutil.NoSuchProcess:
        return None
    command = child.command
    return Entry(child.name, child.pid, started_at, command.stop_signal, command.patience_s)


def _stop(entries: list[Entry]) -> None:
    for entry in entries:
        _signal(entry)
    deadline = time.monotonic() + max((entry.patience_s for entry in entries), default=0.0)
    while any(entry.lives() for entry in entries) and time.monotonic() < deadline:
        time.sleep(0.05)
    for entry in entries:
        if entry.lives():
            kill_group(entry.pid)


def _signal(entry: Entry) -> None:
    try:
        os.kill(entry.pid, signal.Signals(entry.stop_signal))
    except ProcessLookupError:
        return
