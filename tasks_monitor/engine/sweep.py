"""Sweep: finds what nobody rang for, and ends what has run out."""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from mcpdesk.audit.log import CLOCK
from tasks_monitor.engine.rows import lock, move
from tasks_monitor.models import Attempt, AttemptOutcome, Operation
from tasks_monitor.states import TERMINAL, State

BATCH = 500
MAX_REPEATS = 3


def sweep(now: datetime) -> int:
    """One look at everything that time changes; returns how many operations it moved."""
    return _lost_calls(now) + _deadlines(now) + _bounds(now)


def anything_due(now: datetime) -> bool:
    """Whether a worker would find something to claim at `now`."""
    free = Q(server__not_before__isnull=True) | Q(server__not_before__lte=now)
    idle = Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    return Operation.objects.filter(free, idle, due_at__lte=now, server__paused=False).exists()


def _lost_calls(now: datetime) -> int:
    """A call whose worker never came back: we do not know what became of it."""
    ids = Operation.objects.filter(state=State.CALLING, leased_until__lte=now)
    return sum(_lose_call(pk, now) for pk in ids.values_list("pk", flat=True)[:BATCH])


@transaction.atomic
def _lose_call(operation_id: UUID, now: datetime) -> bool:
    operation = lock(operation_id)
    if operation.state != State.CALLING or not _lease_ended(operation, now):
        return False
    Attempt.objects.filter(operation=operation, outcome=AttemptOutcome.PENDING).update(
        outcome=AttemptOutcome.UNKNOWN,
        finished_at=now,
        problem="The worker that sent it did not come back.",
    )
    again = operation.repeatable and operation.attempts_made < MAX_REPEATS
    move(
        operation,
        State.READY if again else State.UNKNOWN,
        now=now,
        actor=CLOCK,
        reason="The worker that sent the call did not come back",
        lease_token=None,
        leased_until=None,
        due_at=now if again else None,
    )
    return True


def _lease_ended(operation: Operation, now: datetime) -> bool:
    return operation.leased_until is None or operation.leased_until <= now


def _deadlines(now: datetime) -> int:
    """Our own deadline passed: an expiry, never anybody's refusal."""
    waiting = [State.AWAITING_APPROVAL, State.READY, State.INPUT_REQUIRED, State.WORKING]
    ids = Operation.objects.filter(
        state__in=[*waiting, State.STUCK], deadline_at__lte=now
    ).values_list("pk", flat=True)[:BATCH]
    return sum(_expire(pk, now) for pk in ids)


@transaction.atomic
def _expire(operation_id: UUID, now: datetime) -> bool:
    operation = lock(operation_id)
    if State(operation.state) in TERMINAL | {State.CALLING}:
        return False
    move(operation, State.EXPIRED, now=now, actor=CLOCK, reason="The desk's own deadline passed")
    return True


def _bounds(now: datetime) -> int:
    """Nothing is polled for ever: past the bounds an operator has to look."""
    too_old = now - timedelta(days=settings.ENGINE["MAX_AGE_DAYS"])
    over = Q(polls__gte=settings.ENGINE["MAX_POLLS"]) | Q(created_at__lte=too_old)
    ids = Operation.objects.filter(
        over, state__in=[State.WORKING, State.INPUT_REQUIRED]
    ).values_list("pk", flat=True)[:BATCH]
    return sum(_give_up(pk, now) for pk in ids)


@transaction.atomic
def _give_up(operation_id: UUID, now: datetime) -> bool:
    operation = lock(operation_id)
    if State(operation.state) not in {State.WORKING, State.INPUT_REQUIRED}:
        return False
    reason = "It was checked for longer than this desk's bounds allow"
    move(operation, State.STUCK, now=now, actor=CLOCK, reason=reason)
    return True
