"""The history of a team's approvals: who decided what, for years."""

from django.db.models import Q, QuerySet

from approvals.history_filters import ApprovalFilters
from approvals.models import Approval
from mcpdesk import keyset
from mcpdesk.accounts.access import Member, Permission, in_team, payload_seen
from mcpdesk.keyset import Slice
from tasks_monitor.history_filters import said

PAGE_ROWS = 50
#: What a line needs before its page is known.
_LINE = ("created_at", "took_ms")
#: Left out of rows: each value costs a decryption, and no list shows one.
_UNSHOWN = ("proposal", "words", "operation__task_id", "server__credential", "server__discovery")


def page(
    member: Member, filters: ApprovalFilters, cursor: str = "", size: int = PAGE_ROWS
) -> Slice[Approval]:
    """The approvals at a cursor, with their operations and people; two queries."""
    lines = items(member, filters).only(*_LINE)
    found = keyset.page(lines, filters.order, cursor, size)
    return Slice(whole(found.rows), found.before, found.after)


def items(member: Member, filters: ApprovalFilters) -> QuerySet[Approval]:
    """The approvals that fit, in no order."""
    found = in_team(member, Approval.objects.all()).filter(filters.conditions(member.team_id))
    return found.filter(_has(member, filters.text)) if filters.text else found


def whole(lines: list[Approval]) -> list[Approval]:
    """These approvals in their order, with what a row shows."""
    related = ("server", "decided_by", "operation__started_by", "operation__token")
    approvals = (
        Approval.objects.select_related(*related)
        .defer(*_UNSHOWN)
        .in_bulk([line.pk for line in lines])
    )
    return [approvals[line.pk] for line in lines]


def count_up_to(member: Member, filters: ApprovalFilters, most: int = 1000) -> int:
    """How many fit; one more than `most` where there are more than that."""
    ordered = items(member, filters).order_by(*filters.order.names)
    return ordered[: most + 1].count()


def _has(member: Member, text: str) -> Q:
    """Items with these words. Sealed ones find only what this member may read."""
    everywhere = said(member.team_id, text, sealed=True)
    if member.may(Permission.SEE_ALL_PAYLOADS):
        return everywhere
    seen = payload_seen(member, Approval.objects.all())
    return said(member.team_id, text, sealed=False) | (seen & everywhere)
