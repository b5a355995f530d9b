"""Reconcile: an operator says what became of an operation that the desk cannot follow."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction

from mcpdesk.audit.log import Actor
from tasks_monitor.engine.adopt import check_task_id
from tasks_monitor.engine.doorbell import ring_on_commit
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.rows import lock, move, note
from tasks_monitor.models import Operation, hash_task_id
from tasks_monitor.states import NEEDS_OPERATOR, State


class Choice(StrEnum):
    SEND_AGAIN = "send_again"
    ATTACH_TASK = "attach_task"
    RECORD_DONE = "record_done"
    RECORD_FAILED = "record_failed"


_IN_WORDS = {
    Choice.SEND_AGAIN: "send the call again",
    Choice.ATTACH_TASK: "follow another task",
    Choice.RECORD_DONE: "record it as done",
    Choice.RECORD_FAILED: "record it as failed",
}

_NO_TASK: dict[str, Any] = {
    "task_id": None,
    "task_hash": "",
    "task_created_at": None,
    "ttl_ms": None,
    "expires_at": None,
    "poll_interval_ms": None,
    "poll_not_before": None,
    "unchanged_polls": 0,
    "failed_polls": 0,
    "missing_polls": 0,
    "idle_input_polls": 0,
    "idle_input_since": None,
    "snapshot_digest": None,
    "cancel_sent_at": None,
}


@transaction.atomic
def reconcile(
    operation_id: UUID,
    *,
    choice: Choice,
    reason: str,
    actor: Actor,
    now: datetime,
    task_id: str | None = None,
) -> Operation:
    """Carry out what an operator decided. `reason` is required; `task_id` for ATTACH_TASK.

    SEND_AGAIN makes a new attempt of the same call: its side effects may happen twice, which is
    why only a person can choose it. Raises Refused.
    """
    operation = lock(operation_id)
    if State(operation.state) not in NEEDS_OPERATOR:
        raise Refused("Only lost, stuck and unknown operations are reconciled.")
    if not reason.strip() or "\x00" in reason:
        raise Refused("Say why: the reason stays in the operation's explanation.")
    note(
        operation,
        "operation.reconciled",
        now,
        actor,
        choice=_IN_WORDS[choice],
    )
    _carry_out(operation, choice, reason.strip(), actor, now, task_id)
    return operation


def _carry_out(
    operation: Operation,
    choice: Choice,
    reason: str,
    actor: Actor,
    now: datetime,
    task_id: str | None,
) -> None:
    words = f"{actor.name}: {_IN_WORDS[choice]}"
    if choice == Choice.SEND_AGAIN:
        if operation.adopted:
            raise Refused("An adopted task was not called by this desk: there is no call to send.")
        due = {**_NO_TASK, "due_at": now, "state_only_rounds": 0}
        move(operation, State.READY, now=now, actor=actor, reason=words, **due)
        ring_on_commit(operation.pk)
    elif choice == Choice.ATTACH_TASK:
        check_task_id(task_id or "")
        task = {"task_id": task_id, "task_hash": hash_task_id(task_id or "")}
        due = {**_NO_TASK, **task, "task_created_at": now, "due_at": now}
        move(operation, State.WORKING, now=now, actor=actor, reason=words, **due)
        ring_on_commit(operation.pk)
    else:
        after = State.COMPLETED if choice == Choice.RECORD_DONE else State.FAILED
        move(operation, after, now=now, actor=actor, reason=words)
        # the reason is a person's own text: on the operation, not in the log
        operation.explanation = f"{words}: {reason}"[:500]
        operation.save(update_fields=["explanation"])
