"""Reconcile: an operator says what became of an operation that the desk cannot follow."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction

from mcpdesk.audit.log import Actor
from mcpdesk.mcp.jsontext import storable
from tasks_monitor.engine.adopt import check_task_id, followed
from tasks_monitor.engine.doorbell import ring_on_commit
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.questions import give_up_task_questions
from tasks_monitor.engine.rows import lock, move, note
from tasks_monitor.models import Operation, Payload, hash_task_id
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

#: A fresh beginning. The lease goes too: an exchange that is on its way is not about this.
_NO_TASK: dict[str, Any] = {
    "lease_token": None,
    "leased_until": None,
    "attention": False,
    "cancel_requested_at": None,
    "cancel_requested_by": None,
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
    "cancels_unanswered": 0,
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
    if not reason.strip() or not storable(reason):
        raise Refused("Say why: the reason stays in the operation's explanation.")
    note(
        operation,
        "operation.reconciled",
        now,
        actor,
        choice=_IN_WORDS[choice],
    )
    _keep_decision(operation, choice, reason.strip(), actor, now)
    _carry_out(operation, choice, reason.strip(), actor, now, task_id)
    return operation


def _keep_decision(
    operation: Operation, choice: Choice, reason: str, actor: Actor, now: datetime
) -> None:
    """Keep the choice with its reason: a person's own text, so beside the log and not in it."""
    decision = {
        "at": now.isoformat(),
        "by": actor.name,
        "choice": _IN_WORDS[choice],
        "reason": reason,
    }
    payload = operation.payload
    payload.decisions = [*(payload.decisions or []), decision]
    payload.save(update_fields=["decisions"])


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
        _send_again(operation, words, actor, now)
    elif choice == Choice.ATTACH_TASK:
        _attach(operation, task_id or "", words, actor, now)
    else:
        after = State.COMPLETED if choice == Choice.RECORD_DONE else State.FAILED
        # the reason is a person's own text: on the operation, not in the log
        explanation = f"{words}: {reason}"
        move(operation, after, now=now, actor=actor, reason=words, explanation=explanation)


def _send_again(operation: Operation, words: str, actor: Actor, now: datetime) -> None:
    """The same call once more; from its beginning where it had gone on as a task."""
    if operation.adopted:
        raise Refused("An adopted task was not called by this desk: there is no call to send.")
    fresh = {**_NO_TASK, "due_at": now, "state_only_rounds": 0}
    if operation.has_task:
        give_up_task_questions(operation, now)
        # answers and requestState of the rounds before the task went with that call and no other
        fresh["round"] = operation.round + 1
        Payload.objects.filter(pk=operation.pk).update(request_state=None)
    move(operation, State.READY, now=now, actor=actor, reason=words, **fresh)
    ring_on_commit(operation.pk)


def _attach(operation: Operation, task_id: str, words: str, actor: Actor, now: datetime) -> None:
    check_task_id(task_id)
    other = followed(operation.server, task_id)
    if other is not None and other.pk != operation.pk:
        raise Refused("Another operation of this desk follows that task.")
    give_up_task_questions(operation, now)
    task = {"task_id": task_id, "task_hash": hash_task_id(task_id), "task_created_at": now}
    fresh = {**_NO_TASK, **task, "due_at": now}
    move(operation, State.WORKING, now=now, actor=actor, reason=words, **fresh)
    ring_on_commit(operation.pk)
