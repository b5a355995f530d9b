"""Sweep: finds what nobody rang for, and ends what has run out."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from mcpdesk.audit.log import CLOCK
from mcpdesk.logs import about
from tasks_monitor.engine import again
from tasks_monitor.engine.rows import lock, may_repeat, move
from tasks_monitor.holds import is_held
from tasks_monitor.models import Attempt, AttemptOutcome, Operation, Repair, RepairState
from tasks_monitor.states import TERMINAL, State

logger = logging.getLogger(__name__)

BATCH = 500


def sweep(now: datetime) -> int:
    """One look at everything that time changes; returns how many operations it moved."""
    return _lost_calls(now) + _deadlines(now) + _bounds(now)


def anything_due(now: datetime) -> bool:
    """Whether a worker would find something to claim at `now`."""
    free = Q(server__not_before__isnull=True) | Q(server__not_before__lte=now)
    idle = Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    return Operation.objects.filter(free, idle, due_at__lte=now, server__paused=False).exists()


def _each(change: Callable[[UUID, datetime], bool], ids: Iterable[UUID], now: datetime) -> int:
    """One transaction each. A row that cannot be changed keeps no other one waiting."""
    changed = 0
    for pk in ids:
        try:
            changed += change(pk, now)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            with about(operation=pk):
                logger.exception("the sweep could not change operation %s", pk)
    return changed


def _lost_calls(now: datetime) -> int:
    """A call whose worker never came back: we do not know what became of it."""
    ids = Operation.objects.filter(state=State.CALLING, leased_until__lte=now)
    return _each(_lose_call, ids.values_list("pk", flat=True)[:BATCH], now)


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
    repeats = may_repeat(operation)
    move(
        operation,
        State.READY if repeats else State.UNKNOWN,
        now=now,
        actor=CLOCK,
        reason="The worker that sent the call did not come back",
        lease_token=None,
        leased_until=None,
        due_at=now if repeats else None,
    )
    return True


def _lease_ended(operation: Operation, now: datetime) -> bool:
    return operation.leased_until is None or operation.leased_until <= now


def _deadlines(now: datetime) -> int:
    """Our own deadline passed: an expiry, never anybody's refusal. Under a hold it stands still."""
    waiting = [State.AWAITING_APPROVAL, State.READY, State.INPUT_REQUIRED, State.WORKING]
    ids = Operation.objects.filter(
        ~is_held(),
        state__in=[*waiting, State.STUCK],
        deadline_at__lte=now,
        finished_at__isnull=True,
    ).values_list("pk", flat=True)[:BATCH]
    return _each(_expire, ids, now)


@transaction.atomic
def _expire(operation_id: UUID, now: datetime) -> bool:
    operation = lock(operation_id)
    if State(operation.state) in TERMINAL | {State.CALLING}:
        return False
    reason = "The desk's own deadline passed"
    if operation.again_from:
        again.leave(operation, reason, CLOCK, now)
    else:
        move(operation, State.EXPIRED, now=now, actor=CLOCK, reason=reason)
    return True


def _bounds(now: datetime) -> int:
    """Nothing is polled for ever: past the bounds an operator has to look."""
    return _each(_give_up, _past_bounds(now).values_list("pk", flat=True)[:BATCH], now)


def _past_bounds(now: datetime) -> QuerySet[Operation]:
    """What was checked too often, or is too old. A call is as old as when it was last sent, and a
    repair begins anew: what an operator has followed is followed.
    """
    too_old = now - timedelta(days=settings.ENGINE["MAX_AGE_DAYS"])
    mine = {"operation": OuterRef("pk")}
    sent = Attempt.objects.filter(**mine, sent_at__gt=too_old)
    repaired = Repair.objects.filter(**mine, state=RepairState.DONE, decided_at__gt=too_old)
    is_old = Q(created_at__lte=too_old) & ~Exists(sent) & ~Exists(repaired)
    looked_at = Q(state__in=[State.WORKING, State.INPUT_REQUIRED]) | Q(
        state=State.STUCK, due_at__isnull=False
    )
    over = Q(polls__gte=settings.ENGINE["MAX_POLLS"]) | is_old
    return Operation.objects.filter(over, looked_at, finished_at__isnull=True)


@transaction.atomic
def _give_up(operation_id: UUID, now: datetime) -> bool:
    operation = lock(operation_id)
    if not _past_bounds(now).filter(pk=operation_id).exists():
        return False
    # the lease goes too: a poll that is on its way must not make it due again
    rest: dict[str, Any] = {"due_at": None, "lease_token": None, "leased_until": None}
    if operation.state == State.STUCK:
        return bool(Operation.objects.filter(pk=operation.pk).update(**rest))
    reason = "It was checked for longer than this desk's bounds allow"
    move(operation, State.STUCK, now=now, actor=CLOCK, reason=reason, **rest)
    return True
