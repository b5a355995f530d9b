"""An item that nobody (any more) may decide never sits silent: the admins are told, once."""

from datetime import datetime

from django.db import transaction

from approvals import notices, policy
from approvals.events import note
from approvals.models import AT_ONCE, Approval, ApprovalState
from mcpdesk.accounts.access import Deciders
from mcpdesk.audit.log import DESK
from tasks_monitor.engine import doorbell


def check(approval: Approval, who: Deciders, now: datetime) -> bool:
    """Say when too few people are left to decide an open item, and when they are enough again.

    Once for each change, in the transaction of the caller, who has locked the item. Returns whether
    there was one.
    """
    is_short = who.headcount < _needed(approval)
    if is_short == (approval.nobody_since is not None):
        return False
    approval.nobody_since = now if is_short else None
    approval.save(update_fields=["nobody_since"])
    note(approval, "approval.nobody_left" if is_short else "approval.somebody_again", DESK, now)
    tell = notices.nobody_left if is_short else notices.somebody_again
    tell(approval, now)
    return True


def look_again(team_id: int) -> None:
    """People or roles of a team change: have the clock look at its open items, at once.

    To be called in the transaction of that change. The marks are part of it; the ring that follows
    is only there to be quick.
    """
    mine = Approval.objects.filter(team_id=team_id, state=ApprovalState.OPEN)
    locked = mine.order_by("pk").select_for_update(no_key=True)
    Approval.objects.filter(pk__in=list(locked.values_list("pk", flat=True))).update(
        look_at=AT_ONCE
    )
    transaction.on_commit(lambda: doorbell.ring_task(doorbell.APPROVALS_SWEEP), robust=True)


def _needed(approval: Approval) -> float:
    """How many different people have to say yes; a policy that cannot be read asks too many."""
    if approval.policy is None:
        return 1
    try:
        return policy.read_ask(approval.policy.get("ask")).quorum
    except policy.BadRule:
        return float("inf")
