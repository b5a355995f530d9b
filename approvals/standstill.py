"""What a hold does to our deadlines: they stand still while it is on, and move when it ends.

The server's own time is the server's: it runs on.
"""

from datetime import datetime, timedelta

from django.db.models import F, PositiveIntegerField
from django.db.models.functions import Cast, Extract

from approvals.models import AT_ONCE, Approval, ApprovalState
from tasks_monitor import holds
from tasks_monitor.engine.hold import Stretch, stood_still
from tasks_monitor.models import Operation


def is_held(approval: Approval) -> bool:
    """Whether nothing is sent for this item, so that its deadlines stand still."""
    return holds.since(approval.team_id, approval.operation.server_id) is not None


def deadline_of(approval: Approval, now: datetime) -> datetime | None:
    """Our deadline (UTC), later by what it has stood still in a hold that is still on."""
    return _moved(approval, approval.operation.server_id, now)


def deadline_of_operation(operation: Operation, now: datetime) -> datetime | None:
    """The same for an operation's own deadline."""
    return _moved(operation, operation.server_id, now)


def _moved(row: Approval | Operation, server_id: int, now: datetime) -> datetime | None:
    if row.deadline_at is None:
        return None
    since = holds.since(row.team_id, server_id)
    if since is None:
        return row.deadline_at
    return row.deadline_at + max(now - max(since, row.created_at), timedelta())


def give_back(stretch: Stretch) -> None:
    """Every open item of these servers gets the time that it stood still, once for all holds.

    Part of the transaction that ends the hold; then the clock looks at these items at once.
    """
    mine = Approval.objects.filter(
        state=ApprovalState.OPEN,
        operation__server_id__in=stretch.server_ids,
        created_at__lt=stretch.until,
    )
    locked = mine.order_by("pk").select_for_update(no_key=True, of=("self",))
    stood = stood_still(stretch)
    Approval.objects.filter(pk__in=list(locked.values_list("pk", flat=True))).update(
        deadline_at=F("deadline_at") + stood,
        held_s=F("held_s") + Cast(Extract(stood, "epoch"), PositiveIntegerField()),
        look_at=AT_ONCE,
    )
