"""Where tasks and counters live: in memory, or in a SQLite file that several instances share."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mcpdesk.simulator.timeline import TaskRecord


class Store(Protocol):
    """Tasks by id, and counters by (kind, name)."""

    def load(self, task_id: str) -> TaskRecord | None:
        """The task, or None when nobody knows that id."""

    def save(self, record: TaskRecord) -> None:
        """Create or replace a task."""

    def tasks(self) -> Iterator[TaskRecord]:
        """Every task."""

    def add(self, kind: str, name: str) -> int:
        """Count one more and return the new count."""

    def tally(self, kind: str) -> dict[str, int]:
        """All counts of a kind, by name."""

    @contextmanager
    def change(self) -> Iterator[None]:
        """Nothing else reads or writes between what is read and written here. Blocks may nest."""

    def reset(self) -> None:
        """Forget everything."""


class MemoryStore:
    """A store of one process. One event loop, no await inside a change: no lock is needed."""

    def __init__(self) -> None:
        self._tasks: dict[str, TaskRecord] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def load(self, task_id: str) -> TaskRecord | None:
        return self._tasks.get(task_id)

    def save(self, record: TaskRecord) -> None:
        self._tasks[record.id] = record

    def tasks(self) -> Iterator[TaskRecord]:
        return iter(list(self._tasks.values()))

    def add(self, kind: str, name: str) -> int:
        self._counts[kind, name] += 1
        return self._counts[kind, name]

    def tally(self, kind: str) -> dict[str, int]:
        return {name: count for (of, name), count in self._counts.items() if of == kind}

    @contextmanager
    def change(self) -> Iterator[None]:
        yield

    def reset(self) -> None:
        self._tasks.clear()
        self._counts.clear()


SCHEMA = """
CREATE TABLE IF NOT EXISTS task (id TEXT PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tally (
    kind TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (kind, name)
);
CREATE TABLE IF NOT EXISTS secret (seed TEXT NOT NULL);
"""


def _dump(record: TaskRecord) -> str:
    fields = {name: getattr(record, name) for name in TaskRecord.__slots__}
    return json.dumps(fields, separators=(",", ":"))


def _record(text: str) -> TaskRecord:
    fields = json.loads(text)
    fields["answers"] = {key: (answer, at) for key, (answer, at) in fields["answers"].items()}
    return TaskRecord(**fields)


class SqliteStore:
    """A store in a file. Write-ahead logging: what was answered survives a kill of the process."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None, timeout=10)
        self._changing = False
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.executescript(SCHEMA)

    def seed(self, proposed: str) -> str:
        """The seed of this file: the one it was made with, or else `proposed`."""
        with self.change():
            row = self._db.execute("SELECT seed FROM secret").fetchone()
            if row is None:
                self._db.execute("INSERT INTO secret VALUES (?)", (proposed,))
        return str(row[0]) if row else proposed

    def load(self, task_id: str) -> TaskRecord | None:
        row = self._db.execute("SELECT record FROM task WHERE id = ?", (task_id,)).fetchone()
        return _record(row[0]) if row else None

    def save(self, record: TaskRecord) -> None:
        self._db.execute("REPLACE INTO task VALUES (?, ?)", (record.id, _dump(record)))

    def tasks(self) -> Iterator[TaskRecord]:
        for (text,) in self._db.execute("SELECT record FROM task").fetchall():
            yield _record(text)

    def add(self, kind: str, name: str) -> int:
        row = self._db.execute(
            "INSERT INTO tally VALUES (?, ?, 1) "
            "ON CONFLICT (kind, name) DO UPDATE SET count = count + 1 RETURNING count",
            (kind, name),
        ).fetchone()
        return int(row[0])

    def tally(self, kind: str) -> dict[str, int]:
        return dict(self._db.execute("SELECT name, count FROM tally WHERE kind = ?", (kind,)))

    @contextmanager
    def change(self) -> Iterator[None]:
        if self._changing:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        self._changing = True
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        finally:
            self._changing = False

    def reset(self) -> None:
        with self.change():
            self._db.execute("DELETE FROM task")
            self._db.execute("DELETE FROM tally")
