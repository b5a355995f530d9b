"""Settles polls, answers and cancellations of remote tasks."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from mcpdesk.audit.log import DESK
from mcpdesk.mcp.outcomes import Acknowledged, AckOutcome, TaskMissing, TaskOutcome
from mcpdesk.mcp.tasks import Task
from tasks_monitor.engine import again, traces
from tasks_monitor.engine.apply_task import apply_task, poll_delay, schedule
from tasks_monitor.engine.claim import Claim, array
from tasks_monitor.engine.rows import lock, move, note
from tasks_monitor.engine.work import Cancel, Poll, Update
from tasks_monitor.models import (
    Delivery,
    DeliveryState,
    InputRequestSource,
    Operation,
    hash_task_id,
)
from tasks_monitor.session import Step
from tasks_monitor.states import POLLED, TERMINAL, State

MISSING_BEFORE_LOST = 2
#: An answer that no acknowledgement ever came for is sent this often, then it counts as ignored.
MAX_UNACKNOWLEDGED = 5
#: A cancellation that the server gives no usable answer to is sent this often; polls go on.
MAX_CANCELS = 5
FAILED_POLL_LAST_S = 600.0


def changes_nothing(work: Poll, outcome: TaskOutcome, now: datetime) -> bool:
    """Whether this poll can go into the bulk update: nothing new, nothing to watch."""
    claim = work.claim
    return (
        isinstance(outcome, Task)
        and outcome.digest == claim.snapshot_digest
        and not claim.attention
        and claim.state in POLLED
        and (claim.expires_at is None or claim.expires_at > now)
    )


_UNCHANGED: Final = """
UPDATE tasks_monitor_operation o
SET polls = o.polls + 1,
    unchanged_polls = o.unchanged_polls + 1,
    failed_polls = 0,
    missing_polls = 0,
    last_polled_at = %(now)s,
    poll_not_before = v.due_at,
    due_at = CASE WHEN o.attention THEN %(now)s ELSE v.due_at END,
    lease_token = NULL,
    leased_until = NULL
FROM unnest(%(ids)s::uuid[], %(tokens)s::uuid[], %(dues)s::timestamptz[]) AS v(id, token, due_at)
WHERE o.id = v.id AND o.lease_token = v.token
"""


def settle_unchanged(polls: list[tuple[Poll, datetime]], now: datetime) -> None:
    """One statement for all polls that changed nothing; `polls` pairs each with its next due time.

    A row whose lease was lost meanwhile is left alone. An answer that was saved during the poll
    (attention) is due at once.
    """
    parameters: dict[str, Any] = {
        "now": now,
        "ids": array(str(work.claim.operation_id) for work, _ in polls),
        "tokens": array(str(work.claim.lease_token) for work, _ in polls),
        "dues": array(due.isoformat() for _, due in polls),
    }
    with connection.cursor() as cursor:
        cursor.execute(_UNCHANGED, parameters)


def settle_poll(work: Poll, step: Step[TaskOutcome], now: datetime) -> None:
    """Apply one poll that may have changed something, in the caller's transaction."""
    operation = lock(work.claim.operation_id)
    if not _is_about(operation, work.claim):
        return
    outcome = step.outcome
    holds = operation.lease_token == work.claim.lease_token
    is_over = State(operation.state) in TERMINAL
    if isinstance(outcome, Task) and (holds or is_over or outcome.is_terminal):
        if operation.again_from:
            again.leave(operation, "The task ended after all", DESK, now)
        traces.polled(operation, work, step.exchange.received_at)
        # by the server's clock, which made the task; but one that is ahead ends nothing early
        apply_task(operation, outcome, now, min(step.exchange.server_date or now, now))
    elif not holds or is_over:
        # somebody else looks at the task by now, and knows better which answers are on their way
        return
    elif isinstance(outcome, TaskMissing):
        _missing(operation, outcome, now)
    else:
        _failed(operation, now)


def _is_about(operation: Operation, claim: Claim) -> bool:
    """Whether the operation still follows the task of this claim: an operator may have decided."""
    return operation.task_hash == hash_task_id(claim.task_id)


def _missing(operation: Operation, outcome: TaskMissing, now: datetime) -> None:
    """A second look after the poll interval; then `lost`, with the last known state kept."""
    operation.missing_polls += 1
    operation.polls += 1
    operation.last_polled_at = now
    operation.poll_not_before = now + poll_delay(operation)
    operation.save(update_fields=["missing_polls", "polls", "last_polled_at", "poll_not_before"])
    note(
        operation,
        "task.missing",
        now,
        count=operation.missing_polls,
        code=outcome.code,
    )
    schedule(operation, now)
    if operation.missing_polls < MISSING_BEFORE_LOST:
        _poll_next(operation)
    elif State(operation.state) == State.LOST:
        Operation.objects.filter(pk=operation.pk).update(due_at=None)
    elif _waited_in_vain(operation, now):
        move(
            operation,
            State.EXPIRED,
            now=now,
            reason="The server's time for the task passed while it waited for an answer",
        )
    else:
        move(
            operation,
            State.LOST,
            now=now,
            reason="The server says twice that it does not know the task",
            attention=False,
        )


def _waited_in_vain(operation: Operation, now: datetime) -> bool:
    """Whether the task's time was over while it asked, with no answer on its way.

    Servers forget such tasks. What was working, or had an answer under way, may have gone on: that
    is lost, not expired.
    """
    if State(operation.state) != State.INPUT_REQUIRED or operation.expires_at is None:
        return False
    on_its_way = operation.input_requests.filter(
        source=InputRequestSource.TASK,
        delivery__state__in=[DeliveryState.SENT, DeliveryState.ACKNOWLEDGED],
    )
    return operation.expires_at <= now and not on_its_way.exists()


def _failed(operation: Operation, now: datetime) -> None:
    """No usable answer: again with a pause that grows, never sooner than the server asked."""
    operation.failed_polls += 1
    operation.polls += 1
    operation.last_polled_at = now
    backoff = timedelta(seconds=min(2.0 ** min(operation.failed_polls, 20), FAILED_POLL_LAST_S))
    operation.poll_not_before = now + max(backoff, poll_delay(operation))
    operation.save(update_fields=["failed_polls", "polls", "last_polled_at", "poll_not_before"])
    schedule(operation, now)
    _poll_next(operation)


def _poll_next(operation: Operation) -> None:
    """After a failure the server is asked how things stand before anything is sent to it."""
    Operation.objects.filter(pk=operation.pk).update(due_at=operation.poll_not_before)


def settle_update(work: Update, step: Step[AckOutcome], now: datetime) -> None:
    """An acknowledgement is not proof; anything else is settled by asking how the task stands."""
    operation = lock(work.claim.operation_id)
    deliveries = list(
        Delivery.objects.select_for_update().filter(
            pk__in=work.delivery_ids, state=DeliveryState.SENT
        )
    )
    for delivery in deliveries:
        _settle_delivery(operation, delivery, step.outcome, now)
    if operation.lease_token == work.claim.lease_token:
        schedule(operation, now)


def _settle_delivery(
    operation: Operation, delivery: Delivery, outcome: AckOutcome, now: datetime
) -> None:
    if isinstance(outcome, Acknowledged):
        delivery.state = DeliveryState.ACKNOWLEDGED
        delivery.acknowledged_at = now
        delivery.outstanding_polls = 0
        delivery.problem = ""
        note(operation, "answer.acknowledged", now, question=delivery.input_request_id)
    else:
        delivery.problem = _problem(outcome)
        if delivery.times_sent >= MAX_UNACKNOWLEDGED:
            delivery.state = DeliveryState.IGNORED
            # the next poll counts as a change, whatever it says: an ignored answer makes it stuck
            Operation.objects.filter(pk=operation.pk).update(snapshot_digest=None)
    delivery.save(update_fields=["state", "acknowledged_at", "outstanding_polls", "problem"])


def _problem(outcome: Any) -> str:
    """Why an answer was not acknowledged, without the server's words."""
    if isinstance(outcome, TaskMissing):
        return "The server said that it does not know the task."
    if hasattr(outcome, "code"):
        return f"The server refused the answer (error {outcome.code})."
    return str(outcome.sentence)[:500]


def settle_cancel(work: Cancel, step: Step[AckOutcome], now: datetime) -> None:
    """The request was made; whether the task ends as cancelled, the next polls tell."""
    operation = lock(work.claim.operation_id)
    if State(operation.state) in TERMINAL or not _is_about(operation, work.claim):
        return
    outcome = step.outcome
    code = getattr(outcome, "code", None)
    if isinstance(outcome, Acknowledged) or code is not None:
        operation.cancel_sent_at = now
        operation.save(update_fields=["cancel_sent_at"])
        note(operation, "operation.cancel_sent", now, code=code)
    else:
        _cancel_unanswered(operation, now)
    if operation.lease_token == work.claim.lease_token:
        schedule(operation, now)
        if operation.cancel_sent_at is None:
            _failed(operation, now)


def _cancel_unanswered(operation: Operation, now: datetime) -> None:
    """It may have arrived: after a few times the desk only watches how the task ends."""
    operation.cancels_unanswered += 1
    if operation.cancels_unanswered >= MAX_CANCELS:
        operation.cancel_sent_at = now
        note(operation, "operation.cancel_unanswered", now, count=operation.cancels_unanswered)
    operation.save(update_fields=["cancels_unanswered", "cancel_sent_at"])
