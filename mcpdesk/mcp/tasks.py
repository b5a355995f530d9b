"""The Task of the Tasks extension, read from `tasks/get` and from a call that became a task."""

import hashlib
import math
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from mcpdesk.mcp.envelope import whole_number
from mcpdesk.mcp.inputs import InputRequest, read_input_requests
from mcpdesk.mcp.jsontext import canonical, plain, storable
from mcpdesk.mcp.limits import (
    MAX_INPUT_REQUESTS,
    MAX_STATUS_MESSAGE_CHARS,
    MAX_TASK_ID_CHARS,
    MAX_WORD_CHARS,
    POLL_CAP_MS,
)
from mcpdesk.mcp.notes import Note


class TaskStatus(StrEnum):
    """The five statuses of a task (tasks: Task Status)."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED})
_STATUSES = {status.value: status for status in TaskStatus}
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)


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


def usable_task_id(value: Any) -> str | None:
    """The value where it can serve as a task id: text that headers and columns can hold."""
    if isinstance(value, str) and 0 < len(value) <= MAX_TASK_ID_CHARS and storable(value):
        return value
    return None


def task_from(content: dict[str, Any], task_id: str, notes: tuple[Note, ...] = ()) -> Task | None:
    """The task that a result tells of; None where it has no status (then it tells nothing)."""
    raw_status = content.get("status")
    if not isinstance(raw_status, str):
        return None
    found = list(notes)
    status = _STATUSES.get(raw_status)
    if status is None:
        found.append(Note.STATUS_UNKNOWN)
    raw_status = plain(raw_status[:MAX_WORD_CHARS])
    message = _status_message(content.get("statusMessage"), found)
    created_at = _instant(content.get("createdAt"), found)
    updated_at = _instant(content.get("lastUpdatedAt"), found)
    ttl = _ttl(content, found)
    interval = _poll_interval(content.get("pollIntervalMs"), found)
    payload = _payload(content, status, found)
    digest = hashlib.blake2b(
        repr((raw_status, message, created_at, ttl.ms, interval)).encode("utf-8", "replace"),
        digest_size=16,
    )
    if any(payload):
        digest.update(canonical(content[_PAYLOADS[status][0]]).encode("ascii"))
    return Task(
        task_id,
        status,
        raw_status,
        message,
        created_at,
        updated_at,
        ttl,
        interval,
        *payload,
        tuple(dict.fromkeys(found)),
        digest.digest(),
    )


def seed_from(content: dict[str, Any], task_id: str, notes: tuple[Note, ...] = ()) -> Task | None:
    """The task in the answer that made it. None where it has no status.

    A CreateTaskResult need not bring what belongs to its status (tasks: Task Creation), so that
    nothing is noted as missing: only `tasks/get` says whether it is.
    """
    task = task_from(content, task_id, notes)
    if task is None:
        return None
    missing = {note for _, note in _PAYLOADS.values()}
    return replace(task, notes=tuple(note for note in task.notes if note not in missing))


# What each status brings, and the note for when it does not.
_PAYLOADS: dict[TaskStatus | None, tuple[str, Note]] = {
    TaskStatus.INPUT_REQUIRED: ("inputRequests", Note.INPUT_REQUESTS_EMPTY),
    TaskStatus.COMPLETED: ("result", Note.RESULT_MISSING),
    TaskStatus.FAILED: ("error", Note.ERROR_MISSING),
}


def _payload(
    content: dict[str, Any], status: TaskStatus | None, notes: list[Note]
) -> tuple[tuple[InputRequest, ...], dict[str, Any] | None, dict[str, Any] | None]:
    """Input requests, result and error: only the one that belongs to the status."""
    if status not in _PAYLOADS:
        return (), None, None
    name, note_if_missing = _PAYLOADS[status]
    held = content.get(name)
    if not isinstance(held, dict):
        notes.append(note_if_missing)
        return (), None, None
    if status is TaskStatus.COMPLETED:
        return (), held, None
    if status is TaskStatus.FAILED:
        return (), None, held
    return _asked(held, notes), None, None


def _asked(entries: dict[str, Any], notes: list[Note]) -> tuple[InputRequest, ...]:
    if not entries:
        notes.append(Note.INPUT_REQUESTS_EMPTY)
    if len(entries) > MAX_INPUT_REQUESTS:
        notes.append(Note.INPUT_REQUESTS_TOO_MANY)
    return read_input_requests(entries)


def _status_message(value: Any, notes: list[Note]) -> str | None:
    if isinstance(value, str):
        cut = value[:MAX_STATUS_MESSAGE_CHARS]
        return plain(cut if cut == value else f"{cut} …")
    if value is not None:
        notes.append(Note.STATUS_MESSAGE_UNREADABLE)
    return None


def _instant(value: Any, notes: list[Note]) -> datetime | None:
    """An RFC 3339 time in UTC; digits beyond microseconds are cut."""
    if isinstance(value, str) and _RFC_3339.fullmatch(value):
        try:
            return datetime.fromisoformat(value).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    notes.append(Note.TIME_UNREADABLE)
    return None


def _ttl(content: dict[str, Any], notes: list[Note]) -> Ttl:
    value = content.get("ttlMs")
    if value is None:
        note = None if "ttlMs" in content else Note.TTL_MISSING
        ms = None
    else:
        ms = _milliseconds(value, notes)
        note = Note.TTL_UNREADABLE if ms is None else None
        if ms is not None and ms <= 0:
            note = Note.TTL_NOT_POSITIVE
    if note is not None:
        notes.append(note)
    return Ttl(ms, note)


def _poll_interval(value: Any, notes: list[Note]) -> int | None:
    if value is None:
        return None
    ms = _milliseconds(value, notes)
    if ms is None:
        notes.append(Note.POLL_INTERVAL_UNREADABLE)
    elif ms <= 0:
        notes.append(Note.POLL_INTERVAL_NOT_POSITIVE)
    elif ms > POLL_CAP_MS:
        notes.append(Note.POLL_INTERVAL_TOO_LONG)
    return ms


def _milliseconds(value: Any, notes: list[Note]) -> int | None:
    """A number of milliseconds, rounded up; None for anything that is no number."""
    if isinstance(value, float) and math.isfinite(value):
        notes.append(Note.NUMBER_AS_FRACTION)
        return math.ceil(value)
    return whole_number(value)
