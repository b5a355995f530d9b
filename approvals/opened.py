"""What goes with every new item: whom it is put to by name, its event, and who is told."""

from collections.abc import Collection
from datetime import datetime

from approvals import alertness, notices
from approvals.models import Approval
from mcpdesk.accounts.models import User
from mcpdesk.audit.log import DESK, record


def opened(approval: Approval, people: Collection[int], now: datetime) -> None:
    """Complete an item that was just made, in the transaction that made it.

    `people` are the ids of those it is put to by name. `now` is aware UTC.
    """
    approval.people.set(User.objects.filter(pk__in=people))
    record(
        "approval.opened",
        team_id=approval.team_id,
        actor=DESK,
        now=now,
        operation_id=approval.operation_id,
        approval_id=approval.pk,
        server_id=approval.operation.server_id,
        audience=approval.get_audience_display(),
    )
    notices.opened(approval, now)
    alertness.check(approval, now)
