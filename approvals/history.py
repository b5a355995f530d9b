"""The history of a team's approvals: who decided what, for years."""

from uuid import UUID

from django.db.models import Q, QuerySet

from approvals.history_filters import ApprovalFilters
from approvals.models import Approval
from mcpdesk import keyset
from mcpdesk.accounts.access import Member, Permission, in_team, payload_seen
from mcpdesk.keyset import Slice
from tasks_monitor.history_filters import said

PAGE_ROWS = 50
#: What a row shows, here, through the API and in an export. All columns of all five tables took
#: longer to turn into objects than the page took for anything else.
_ROW = (
    *("kind", "shape", "audience", "four_eyes", "state", "decision", "decided_by"),
    *("server", "tool_name", "created_at", "deadline_at", "closed_at", "took_ms"),
    *("operation__server", "operation__tool_name", "operation__reason"),
    *("operation__started_by", "operation__token"),
    *("server__name", "operation__token__name", "decided_by__name", "decided_by__email"),
    *("operation__started_by__name", "operation__started_by__email"),
)


def page(
    member: Member,
    filters: ApprovalFilters,
    cursor: str = "",
    size: int = PAGE_ROWS,
    *,
    count_to: int = 0,
) -> Slice[Approval]:
    """The approvals at a cursor, with their operations and people; two queries.

    `count_to`: of the first page they are counted up to so many, where that costs no query more.
    """
    along = count_to if filters.counted_along == filters.order else 0
    found = items(member, filters)
    return keyset.page_by_keys(found, filters.order, whole, cursor, size, count_to=along)


def items(member: Member, filters: ApprovalFilters) -> QuerySet[Approval]:
    """The approvals that fit, in no order."""
    found = in_team(member, Approval.objects.all()).filter(filters.conditions(member.team_id))
    return found.filter(_has(member, filters.text)) if filters.text else found


def whole(keys: list[UUID]) -> list[Approval]:
    """The approvals with these keys in their order, with what a row shows."""
    related = ("server", "decided_by", "operation__started_by", "operation__token")
    approvals = Approval.objects.select_related(*related).only(*_ROW).in_bulk(keys)
    return [approvals[key] for key in keys]


def count_up_to(member: Member, filters: ApprovalFilters, most: int = 1000) -> int:
    """How many fit; one more than `most` where there are more than that."""
    ordered = items(member, filters).order_by(*filters.counted_along.names)
    return ordered[: most + 1].count()


def _has(member: Member, text: str) -> Q:
    """Items with these words. Sealed ones find only what this member may read."""
    everywhere = said(member.team_id, text, sealed=True)
    if member.may(Permission.SEE_ALL_PAYLOADS):
        return everywhere
    seen = payload_seen(member, Approval.objects.all())
    return said(member.team_id, text, sealed=False) | (seen & everywhere)
