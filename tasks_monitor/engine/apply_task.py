"""Applies what a server said of a task: all that changed, or nothing."""

import random
from datetime import datetime, timedelta
from typing import Any

from mcpdesk.mcp import pacing
from mcpdesk.mcp.tasks import Task, TaskStatus
from tasks_monitor.engine import words
from tasks_monitor.engine.questions import MAX_QUESTIONS, settle_all_deliveries, sync_task
from tasks_monitor.engine.results import keep_result
from tasks_monitor.engine.rows import move, note
from tasks_monitor.models import (
    DeliveryState,
    InputRequestSource,
    InputRequestState,
    Operation,
    Payload,
    hash_task_id,
)
from tasks_monitor.states import TERMINAL, State

STUCK_POLLS = 60
STUCK_AFTER = timedelta(minutes=10)
MAX_INTERVAL_MS = 2**53

_ENDINGS = {
    TaskStatus.COMPLETED: (State.COMPLETED, "The task completed"),
    TaskStatus.FAILED: (State.FAILED, "The task failed with a protocol error"),
    TaskStatus.CANCELLED: (State.CANCELLED, "The server reported it as cancelled"),
}


def apply_task(
    operation: Operation, task: Task, now: datetime, server_now: datetime | None = None
) -> None:
    """Take in one state of the remote task; the operation is locked by the caller.

    `server_now` is the moment its TTL is judged by; None: not now, as with a handle that was not
    polled yet. Terminal is final: what comes later is only recorded.
    """
    if State(operation.state) in TERMINAL:
        note(operation, "task.late", now, status=_status_word(task))
        return
    changed = bytes(operation.snapshot_digest or b"") != task.digest
    _take_clocks(operation, task, now, changed)
    _take_texts(operation, task)
    operation.save()
    if task.is_terminal:
        _end(operation, task, now)
    else:
        _go_on(operation, task, now, server_now)


def keep_handle(operation: Operation, task_id: str, now: datetime) -> None:
    """Write the handle into the operation: from here on it can be found again."""
    operation.task_id = task_id
    operation.task_hash = hash_task_id(task_id)
    operation.task_created_at = now


def schedule(operation: Operation, now: datetime) -> None:
    """When the engine looks at a task next, and whether more than a poll is to be done.

    Saves the operation and gives the lease back.
    """
    outbox = _outbox_states(operation)
    cancels = operation.cancel_requested_at is not None and operation.cancel_sent_at is None
    idle = operation.idle_input_polls > 0
    operation.attention = bool(outbox) or cancels or idle
    sends = DeliveryState.SAVED in outbox and DeliveryState.SENT not in outbox
    # an adopted task may be cancelled before it was ever polled
    next_poll = operation.poll_not_before or now
    operation.due_at = now if sends or cancels else next_poll
    operation.lease_token = operation.leased_until = None
    operation.save(update_fields=["attention", "due_at", "lease_token", "leased_until"])


def _outbox_states(operation: Operation) -> set[str]:
    return set(
        operation.input_requests.filter(
            source=InputRequestSource.TASK,
            delivery__state__in=[
                DeliveryState.SAVED,
                DeliveryState.SENT,
                DeliveryState.ACKNOWLEDGED,
            ],
        ).values_list("delivery__state", flat=True)
    )


def poll_delay(operation: Operation) -> timedelta:
    """The pause before the next poll, with jitter, never shorter than the server asked."""
    jitter = random.random()  # noqa: S311 - spreads polls, guards nothing
    delay_ms = pacing.next_poll_delay_ms(
        operation.poll_interval_ms, operation.unchanged_polls, jitter
    )
    return timedelta(milliseconds=delay_ms)


def _take_clocks(operation: Operation, task: Task, now: datetime, changed: bool) -> None:
    operation.polls += 1
    operation.failed_polls = operation.missing_polls = 0
    operation.last_polled_at = now
    operation.unchanged_polls = 0 if changed else operation.unchanged_polls + 1
    if changed:
        operation.last_changed_at = operation.updated_at = now
    operation.snapshot_digest = task.digest
    operation.poll_interval_ms = _bounded(task.poll_interval_ms)
    operation.task_created_at = task.created_at or operation.task_created_at or now
    operation.ttl_ms = _bounded(task.ttl.ms)
    operation.expires_at = pacing.expires_at(operation.task_created_at, task.ttl)
    operation.poll_not_before = now + poll_delay(operation)


def _bounded(milliseconds: int | None) -> int | None:
    """A server's number as a column holds it."""
    if milliseconds is None:
        return None
    return max(-MAX_INTERVAL_MS, min(milliseconds, MAX_INTERVAL_MS))


def _take_texts(operation: Operation, task: Task) -> None:
    payload = operation.payload
    notes = sorted({*(payload.notes or []), *map(str, task.notes)})
    if (payload.status_message, payload.notes or []) == (task.status_message, notes):
        return
    payload.status_message, payload.notes = task.status_message, notes
    payload.save(update_fields=["status_message", "notes"])
    words.say(operation, task.status_message or "")


def _end(operation: Operation, task: Task, now: datetime) -> None:
    assert task.status is not None
    after, reason = _ENDINGS[task.status]
    settle_all_deliveries(operation, now)
    if task.result is not None:
        keep_result(operation, task.result, task.notes)
    Payload.objects.filter(pk=operation.pk).update(error=task.error)
    is_error = after == State.COMPLETED and (task.result or {}).get("isError") is True
    if is_error:
        reason = "The task completed; the tool reported an error"
    move(
        operation,
        after,
        now=now,
        reason=reason,
        is_error=is_error,
        error_code=_error_code(task.error),
    )


def _error_code(error: dict[str, Any] | None) -> int | None:
    """The code of a task's error as a column holds it."""
    code = (error or {}).get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        return None
    return code if abs(code) < 2**53 else None


def _go_on(operation: Operation, task: Task, now: datetime, server_now: datetime | None) -> None:
    if task.status == TaskStatus.INPUT_REQUIRED:
        _input_required(operation, task, now)
    elif task.status == TaskStatus.WORKING:
        asked = sync_task(operation, (), now)
        operation.idle_input_polls, operation.idle_input_since = 0, None
        operation.save(update_fields=["idle_input_polls", "idle_input_since"])
        # it asks without end: only an operator, or the end of the task, takes it out of `stuck`
        if not (asked.without_end and operation.state == State.STUCK):
            _move(operation, State.WORKING, now, "The task runs")
    if server_now is not None and _time_is_over(operation, server_now):
        move(
            operation,
            State.EXPIRED,
            now=now,
            reason="The time the server keeps the task is over, and it has not finished",
        )
        return
    schedule(operation, now)


def _time_is_over(operation: Operation, server_now: datetime) -> bool:
    """The server's TTL has passed. No clock is asked where it leaves no time at all."""
    if operation.ttl_ms is not None and operation.ttl_ms <= 0:
        return True
    return operation.expires_at is not None and operation.expires_at <= server_now


def _input_required(operation: Operation, task: Task, now: datetime) -> None:
    asked = sync_task(operation, task.input_requests, now)
    if asked.refused:
        _move(operation, State.STUCK, now, f"The server asked more than {MAX_QUESTIONS} questions")
    elif asked.ignored:
        _move(operation, State.STUCK, now, "The server keeps asking what was answered twice")
    elif asked.new or _is_asking(operation):
        operation.idle_input_polls, operation.idle_input_since = 0, None
        operation.save(update_fields=["idle_input_polls", "idle_input_since"])
        _move(operation, State.INPUT_REQUIRED, now, "The task waits for input")
    else:
        _count_idle(operation, now)


def _is_asking(operation: Operation) -> bool:
    """Somebody has something to do: a question is open, or an answer is on its way."""
    questions = operation.input_requests.filter(source=InputRequestSource.TASK)
    return questions.filter(state=InputRequestState.OPEN).exists() or bool(
        _outbox_states(operation)
    )


def _count_idle(operation: Operation, now: datetime) -> None:
    """The server waits for input and asks for nothing that was not answered."""
    operation.idle_input_polls += 1
    operation.idle_input_since = operation.idle_input_since or now
    operation.save(update_fields=["idle_input_polls", "idle_input_since"])
    waited = now - operation.idle_input_since
    if operation.idle_input_polls >= STUCK_POLLS and waited >= STUCK_AFTER:
        _move(operation, State.STUCK, now, "The server waits for input and asks nothing new")
    elif State(operation.state) != State.STUCK:
        _move(operation, State.INPUT_REQUIRED, now, "The task waits for input")


def _move(operation: Operation, after: State, now: datetime, reason: str) -> None:
    """Move, unless the operation is there already."""
    if State(operation.state) != after:
        move(operation, after, now=now, reason=reason)


def _status_word(task: Task) -> str:
    return str(task.status) if task.status else "something unknown"
