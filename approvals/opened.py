"""What goes with every new item: whom it is put to by name, its event, and who is told."""

from collections.abc import Collection
from datetime import datetime

from approvals import alertness, notices
from approvals.events import note
from approvals.models import Approval
from mcpdesk.accounts import access
from mcpdesk.accounts.models import User
from mcpdesk.audit.log import DESK


def opened(approval: Approval, people: Collection[int], now: datetime) -> None:
    """Complete an item that was just made, in the transaction that made it.

    `people` are the ids of those it is put to by name. `now` is aware UTC.
    """
    if people:
        approval.people.set(User.objects.filter(pk__in=people))
    note(approval, "approval.opened", DESK, now, audience=approval.get_audience_display())
    who = access.deciders(approval)
    notices.opened(approval, who, now)
    alertness.check(approval, who, now)
