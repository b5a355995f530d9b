"""Locking an operation, and the one place that changes its state."""

from datetime import datetime
from typing import Any
from uuid import UUID

from mcpdesk.audit.log import DESK, Actor, record
from tasks_monitor.engine import expect, history, telling, traces
from tasks_monitor.models import (
    Delivery,
    DeliveryState,
    InputRequest,
    InputRequestState,
    Operation,
)
from tasks_monitor.signals import tell_input_requests_changed
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State, check

_SENTENCE_CHARS = 500
#: A call that is safe to repeat is sent at most this often without an answer.
MAX_REPEATS = 3


class Raced(Exception):
    """Another transaction moved the operation first; this one must look again."""


def lock(operation_id: UUID) -> Operation:
    """The operation, locked until the transaction ends. Raises Operation.DoesNotExist.

    What is sealed stays closed until it is asked for: most changes need neither the task id nor
    the credential, and an operation that no key opens any more can still be ended.
    """
    return (
        Operation.objects.select_for_update(of=("self",))
        .select_related("server")
        .defer("task_id", "server__credential", "server__discovery")
        .get(pk=operation_id)
    )


def move(
    operation: Operation,
    after: State,
    *,
    now: datetime,
    reason: str,
    explanation: str = "",
    actor: Actor = DESK,
    code: int | None = None,
    **changes: Any,
) -> None:
    """Take the operation to another state, with its event, in the caller's transaction.

    `reason` is a sentence for people and for the log (nothing a server wrote); `explanation` is
    shown instead of it where it may hold more. `changes` are further columns. Raises
    TransitionRefused for a pair outside the table, Raced when the row has moved already.
    """
    before = State(operation.state)
    check(before, after)
    columns = {
        "state": after,
        "updated_at": now,
        **_settled(after, now, explanation or reason),
        **expect.columns(operation, before, after, now),
        **changes,
    }
    if not Operation.objects.filter(pk=operation.pk, state=before).update(**columns):
        raise Raced(operation.pk)
    for name, value in columns.items():
        setattr(operation, name, value)
    traces.moved(operation, before, after, now)
    history.follow(operation, before, now)
    note(
        operation,
        "operation.moved",
        now,
        actor,
        before=before.label,
        after=after.label,
        reason=reason[:200],
        code=code,
    )
    telling.tell(operation, before, after, reason, now)
    if after in TERMINAL:
        close_questions(operation, after, now)
        drop_answers(operation, "The operation ended before the answer was sent.")
    if before == State.AWAITING_APPROVAL:
        tell_input_requests_changed(operation.pk)  # its gate is to be closed


def may_repeat(operation: Operation) -> bool:
    """Whether a call without an answer goes out again by itself: never one that is to be ended."""
    if operation.cancel_requested_at is not None:
        return False
    return operation.repeatable and operation.attempts_made < MAX_REPEATS


def _settled(after: State, now: datetime, explanation: str) -> dict[str, Any]:
    """What goes with a state that nothing leaves by itself."""
    if after in TERMINAL:
        return {
            "finished_at": now,
            "explanation": explanation[:_SENTENCE_CHARS],
            "due_at": None,
            "attention": False,
            "lease_token": None,
            "leased_until": None,
        }
    if after in NEEDS_OPERATOR:
        return {"explanation": explanation[:_SENTENCE_CHARS], "due_at": None}
    if after == State.AWAITING_APPROVAL:
        # a call that is to be sent again: why it needs that stays in sight
        return {"explanation": explanation[:_SENTENCE_CHARS]}
    return {"explanation": ""}


def note(operation: Operation, kind: str, now: datetime, actor: Actor = DESK, **data: Any) -> None:
    """Record an event of this operation."""
    record(kind, team_id=operation.team_id, operation_id=operation.pk, actor=actor, now=now, **data)


def close_questions(operation: Operation, ended: State, now: datetime) -> None:
    """Close what is still asked when the operation ends, each ending under its own name."""
    state = InputRequestState.EXPIRED if ended == State.EXPIRED else InputRequestState.CLOSED
    for question in operation.input_requests.select_for_update().filter(
        state=InputRequestState.OPEN
    ):
        close_question(operation, question, state, now)


def drop_answers(operation: Operation, problem: str) -> None:
    """Answers that wait to be sent are not needed any more, for the reason given."""
    Delivery.objects.filter(input_request__operation=operation, state=DeliveryState.SAVED).update(
        state=DeliveryState.NOT_NEEDED, problem=problem
    )


def close_question(
    operation: Operation, question: InputRequest, state: InputRequestState, now: datetime
) -> None:
    """Close one question for a reason that is no person's answer."""
    question.state = state
    question.closed_at = now
    touch_question(operation, question)
    note(
        operation,
        "question.closed",
        now,
        question=question.pk,
        reason=state.label,
    )


def touch_question(operation: Operation, question: InputRequest) -> None:
    """Save a changed question so that the layer above takes it in."""
    question.version += 1
    question.save(update_fields=["state", "closed_at", "version"])
    tell_input_requests_changed(operation.pk)
