"""The Task of the Tasks extension, read from `tasks/get` and from a call that became a task."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from mcpdesk.mcp.inputs import InputRequest
from mcpdesk.mcp.notes import Note


class TaskStatus(StrEnum):
    """The five statuses of a task (tasks: Task Status)."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class Ttl:
    """How long the server keeps a task, from its creation. `ms` None: unlimited."""

    ms: int | None
    note: Note | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The state of a remote task as one message told it.

    `status` is None where the word is not one of ours; the word itself is in `raw_status`. Times
    are aware and in UTC, None where the server sent none that can be read. `poll_interval_ms` is
    what the server asked for, unbounded (`pacing` bounds it). `digest` covers the content without
    `lastUpdatedAt`: an equal digest means that nothing changed.
    """

    task_id: str
    status: TaskStatus | None
    raw_status: str
    status_message: str | None
    created_at: datetime | None
    last_updated_at: datetime | None
    ttl: Ttl
    poll_interval_ms: int | None
    input_requests: tuple[InputRequest, ...]
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    notes: tuple[Note, ...]
    digest: bytes

    @property
    def is_terminal(self) -> bool:
        """Completed, failed or cancelled: this status is final."""
        return self.status in TERMINAL
