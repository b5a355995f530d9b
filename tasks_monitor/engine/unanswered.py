"""Unanswered: our time for a question is over and nobody answered it. Never anybody's refusal."""

from datetime import datetime

from django.db import transaction

from mcpdesk.audit.log import CLOCK
from tasks_monitor.engine.answer import answer
from tasks_monitor.engine.rows import lock, move
from tasks_monitor.models import InputRequest, InputRequestSource
from tasks_monitor.states import State


@transaction.atomic
def give_up(input_request_id: int, *, now: datetime) -> None:
    """End what waits for an open question, so that nothing waits for ever.

    Between the rounds of a call nothing runs at the server: the operation expires, and nothing is
    sent. A running task is told that nobody will answer ("cancel": no choice was made,
    client/elicitation), and goes on or ends as it likes. Raises Refused.
    """
    question = InputRequest.objects.get(pk=input_request_id)
    operation = lock(question.operation_id)
    if question.source == InputRequestSource.TASK:
        answer(question.pk, response={"action": "cancel"}, actor=CLOCK, now=now)
    elif operation.state == State.INPUT_REQUIRED:
        reason = "Nobody answered in time: the desk's own deadline passed"
        move(operation, State.EXPIRED, now=now, actor=CLOCK, reason=reason)
