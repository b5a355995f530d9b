"""Again: a call that broke is sent once more, by a person's word alone, and past the gate.

While it waits at the gate nothing of the operation is given up: where it is not sent after all, it
goes back to the state it came from.
"""

from datetime import datetime
from typing import Any, Final

from mcpdesk.accounts.models import User
from mcpdesk.audit.log import Actor
from tasks_monitor.engine.doorbell import ring_on_commit
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.questions import give_up_task_questions
from tasks_monitor.engine.rows import move
from tasks_monitor.models import Operation, Payload
from tasks_monitor.states import State

#: A fresh beginning. The lease goes too: an exchange that is on its way is not about this.
NO_TASK: Final[dict[str, Any]] = {
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
    "polls": 0,
    "unchanged_polls": 0,
    "failed_polls": 0,
    "missing_polls": 0,
    "idle_input_polls": 0,
    "idle_input_since": None,
    "snapshot_digest": None,
    "cancel_sent_at": None,
    "cancels_unanswered": 0,
}


NOT_OURS = "An adopted task was not called by this desk: there is no call to send."


def send(
    operation: Operation,
    words: str,
    actor: Actor,
    now: datetime,
    *,
    asked_by: User | None = None,
) -> None:
    """Send the same call, from its beginning where it had gone on as a task. Raises Refused.

    The operation is locked, and waits for an operator or at the gate. `asked_by`: who wants it sent
    again; not read where that was said when it began to wait at the gate.
    """
    _check(operation)
    fresh = {**NO_TASK, "due_at": now, "state_only_rounds": 0, "again_from": ""}
    if not operation.again_from:
        fresh["again_by"] = asked_by
    if operation.has_task:
        give_up_task_questions(operation, now)
        # answers and requestState of the rounds before the task went with that call and no other
        fresh["round"] = operation.round + 1
        Payload.objects.filter(pk=operation.pk).update(request_state=None, status_message=None)
    move(operation, State.READY, now=now, actor=actor, reason=words, **fresh)
    ring_on_commit(operation.pk)


def ask_first(
    operation: Operation, words: str, actor: Actor, now: datetime, *, asked_by: User | None
) -> None:
    """Let the locked operation wait at the gate before it is sent again. Raises Refused.

    `asked_by` counts there as having started it: where two agree on a repair, who proposed it.
    """
    _check(operation)
    move(
        operation,
        State.AWAITING_APPROVAL,
        now=now,
        actor=actor,
        reason=words,
        explanation=operation.explanation,
        again_from=operation.state,
        again_by=asked_by,
        due_at=None,
        attention=False,
        lease_token=None,
        leased_until=None,
    )


def leave(operation: Operation, words: str, actor: Actor, now: datetime) -> None:
    """It is not sent again: the locked operation is what it was before that was asked.

    `words` is a sentence of ours, for the log.
    """
    before = State(operation.again_from)
    # a task that is stuck is looked at: the server may move after all, and answers may wait for it
    looks = before == State.STUCK and operation.has_task
    move(
        operation,
        before,
        now=now,
        actor=actor,
        reason=words,
        explanation=operation.explanation,
        again_from="",
        due_at=now if looks else None,
        attention=looks,
    )


def _check(operation: Operation) -> None:
    if operation.adopted:
        raise Refused(NOT_OURS)
