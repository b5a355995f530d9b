"""Answer: writes what was decided, and the intent to deliver it."""

from datetime import datetime
from typing import Any

from django.db import transaction

from mcpdesk.audit.log import Actor
from tasks_monitor.engine.doorbell import ring_on_commit
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.rows import lock, move, note, touch_question
from tasks_monitor.models import (
    Delivery,
    InputRequest,
    InputRequestSource,
    InputRequestState,
    Operation,
)
from tasks_monitor.states import TERMINAL, State

ACTIONS = ("accept", "decline", "cancel")


@transaction.atomic
def answer(
    input_request_id: int, *, response: dict[str, Any], actor: Actor, now: datetime
) -> Delivery:
    """Save the answer to one question and wake a worker to deliver it.

    `response` is an ElicitResult ({"action", "content"?}). An MRTR round goes out once every
    question of the round has its answer; a task takes each answer as it comes. Raises Refused
    where the question is no longer open, and InputRequest.DoesNotExist.
    """
    if response.get("action") not in ACTIONS:
        raise ValueError("an answer's action is accept, decline or cancel")
    operation, question = _lock_question(input_request_id)
    question.state = InputRequestState.ANSWERED
    question.closed_at = now
    touch_question(operation, question)
    delivery = Delivery.objects.create(
        input_request=question,
        response=response,
        action=response["action"],
        answered_by=actor.user,
        saved_at=now,
    )
    note(
        operation,
        "answer.saved",
        now,
        actor,
        question=question.pk,
        action=delivery.action,
    )
    _schedule(operation, question, now)
    return delivery


def _lock_question(input_request_id: int) -> tuple[Operation, InputRequest]:
    """Lock the operation, then the question: the order that the engine uses too."""
    unlocked = InputRequest.objects.get(pk=input_request_id)
    operation = lock(unlocked.operation_id)
    question = InputRequest.objects.select_for_update().get(pk=input_request_id)
    if State(operation.state) in TERMINAL:
        raise Refused(f"The operation has ended: {operation.get_state_display().lower()}.")
    if question.state != InputRequestState.OPEN:
        raise Refused(f"The question is no longer open: {question.get_state_display().lower()}.")
    if question.problem:
        raise Refused("This question cannot be answered here. The operation can be cancelled.")
    return operation, question


def _schedule(operation: Operation, question: InputRequest, now: datetime) -> None:
    """Make the answer due; for an MRTR round only when it is the last one missing.

    While the call waits at the gate to be sent again, an answer waits with it (engine.again).
    """
    if operation.state == State.AWAITING_APPROVAL:
        return
    if question.source == InputRequestSource.TASK:
        Operation.objects.filter(pk=operation.pk).update(due_at=now, attention=True)
    elif _round_is_answered(operation):
        move(operation, State.READY, now=now, reason="Every question has its answer", due_at=now)
    else:
        return
    ring_on_commit(operation.pk)


def _round_is_answered(operation: Operation) -> bool:
    return not operation.input_requests.filter(
        source=InputRequestSource.MRTR,
        round=operation.round,
        state=InputRequestState.OPEN,
    ).exists()
