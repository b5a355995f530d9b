"""The inbox's clock: one look at every open item whose time has come.

`Approval.look_at` is the queue. Each item is one transaction of its own, locked, and everything in
it counts what was done before: two clocks at once, or a clock that stood still for hours, do
nothing twice. No look ever allows anything.
"""

import logging
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q

from approvals import alertness, escalate, expire, remind, standstill
from approvals.models import Approval, ApprovalState, Kind
from mcpdesk.accounts import access
from mcpdesk.logs import about
from tasks_monitor.models import Operation
from tasks_monitor.states import State

logger = logging.getLogger(__name__)

BATCH: Final = 200
#: Nothing waits longer for a look, whatever was forgotten.
AT_THE_LATEST: Final = timedelta(hours=1)
AFTER_A_FAULT: Final = timedelta(minutes=1)


def look(now: datetime) -> int:
    """Expire, remind, escalate and raise alerts, where it is time at `now` (UTC).

    Returns how many items that changed. One that cannot be changed keeps no other one waiting.
    """
    return sum(_guarded(approval_id, now) for approval_id in _due(now))


def _due(now: datetime) -> list[UUID]:
    """At most a batch of those whose time has come, and of those whose operation is over."""
    items = Approval.objects.filter(state=ApprovalState.OPEN)
    timed = items.filter(look_at__lte=now).order_by("look_at")
    orphaned = items.filter(
        Q(operation__finished_at__isnull=False)
        | Q(kind=Kind.GATE) & ~Q(operation__state=State.AWAITING_APPROVAL)
    )
    found = [*timed.values_list("pk", flat=True)[:BATCH]]
    found += orphaned.values_list("pk", flat=True)[:BATCH]
    return list(dict.fromkeys(found))


def _guarded(approval_id: UUID, now: datetime) -> bool:
    try:
        return _look_at(approval_id, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        with about(approval=approval_id):
            logger.exception("the clock could not look at approval %s", approval_id)
        Approval.objects.filter(pk=approval_id).update(look_at=now + AFTER_A_FAULT)
        return False


@transaction.atomic(durable=True)
def _look_at(approval_id: UUID, now: datetime) -> bool:
    """One look at one item; whether anything changed. One that is at work is left for later."""
    approval = _locked(approval_id)
    if approval is None:
        return False
    held = standstill.is_held(approval)
    if expire.end_if_over(approval, now, held=held):
        return True
    changed = [] if held else [remind.remind(approval, now), escalate.escalate(approval, now)]
    changed.append(alertness.check(approval, access.deciders(approval), now))
    approval.look_at = _next_look(approval, now, held)
    approval.save(update_fields=["look_at"])
    return any(changed)


def _locked(approval_id: UUID) -> Approval | None:
    """An open item; None: not open any more, or somebody is at work on it right now.

    The operation is locked first, as everywhere.
    """
    mine = Approval.objects.filter(pk=approval_id, state=ApprovalState.OPEN)
    operations = Operation.objects.select_for_update(no_key=True, skip_locked=True)
    if not operations.filter(pk__in=mine.values("operation_id")).exists():
        return None
    items = mine.select_for_update(of=("self",), skip_locked=True)
    related = items.select_related("operation__started_by")
    return related.defer("operation__task_id", "proposal").first()


def _next_look(approval: Approval, now: datetime, held: bool) -> datetime:
    """When something can be due next; the end of a hold brings it forward."""
    latest = now + AT_THE_LATEST
    if held:
        return latest
    moments = [*remind.moments(approval), *escalate.moments(approval)]
    if approval.deadline_at is not None:
        moments.append(approval.deadline_at)
    return min([at for at in moments if at > now] + [latest])
