"""The history of a team's operations: years of them, at the cost of the rows that are shown.

Everything here reads HistoryEntry and its indexes; operations are read for the rows of one page.
"""

from dataclasses import replace
from uuid import UUID

from django.db.models import Q, QuerySet

from mcpdesk import keyset
from mcpdesk.accounts.access import Member, Permission, in_team
from mcpdesk.keyset import Order, Slice
from tasks_monitor.history_filters import OperationFilters, said
from tasks_monitor.models import HistoryEntry, Operation

PAGE_ROWS = 50
_RELATED = ("operation__server", "operation__started_by", "operation__token")
#: What a row shows, in lists, through the API and in an export. All columns of all five tables took
#: longer to turn into objects than the page took for anything else.
_ROW = (
    *("state", "is_error", "created_at", "state_since", "finished_at"),
    *("people_ms", "server_ms", "took_ms"),
    *(
        f"operation__{column}"
        for column in (
            *("team", "server", "tool_name", "state", "is_error", "adopted", "started_by", "token"),
            *("reason", "questions_to", "explanation", "error_code", "idle_input_polls"),
            *("created_at", "updated_at", "finished_at", "expires_at", "cancel_requested_at"),
            *("server__name", "started_by__name", "started_by__email", "token__name"),
        )
    ),
)


def page(
    member: Member,
    filters: OperationFilters,
    cursor: str = "",
    size: int = PAGE_ROWS,
    *,
    readable: Q | None = None,
    count_to: int = 0,
) -> Slice[Operation]:
    """The operations at a cursor, each with its `history`; two queries. `readable` as entries().

    `count_to`: of the first page they are counted up to so many, where that costs no query more.
    """
    along = count_to if filters.counted_along == filters.order else 0
    found = entries(member, filters, readable)
    return page_of(found, filters.order, cursor, size, count_to=along)


def page_of(
    lines: QuerySet[HistoryEntry], order: Order, cursor: str, size: int, *, count_to: int = 0
) -> Slice[Operation]:
    """The operations of these lines at a cursor, each with its `history`; two queries."""
    found = keyset.page_by_keys(lines, order, _whole, cursor, size, count_to=count_to)
    return replace(found, rows=[line.operation for line in found.rows])


def entries(
    member: Member, filters: OperationFilters, readable: Q | None = None
) -> QuerySet[HistoryEntry]:
    """The lines of the history that fit, in no order.

    `readable`: the lines whose payload this member may read (access.payload_seen), from a layer
    that knows what was put to them; None: those of what they started.
    """
    team = in_team(member, HistoryEntry.objects.defer("words"))
    found = team.filter(filters.conditions(member.team_id))
    return found.filter(_has(member, filters.text, readable)) if filters.text else found


def operations_of(keys: list[UUID]) -> list[Operation]:
    """The operations with these keys in their order, with what a row shows and their `history`."""
    return [line.operation for line in _whole(keys)]


def _whole(keys: list[UUID]) -> list[HistoryEntry]:
    lines = HistoryEntry.objects.select_related(*_RELATED).only("operation", *_ROW).in_bulk(keys)
    return [lines[key] for key in keys]


def count_up_to(member: Member, filters: OperationFilters, most: int = 1000) -> int:
    """How many fit; one more than `most` where there are more than that."""
    ordered = entries(member, filters).order_by(*filters.counted_along.names)
    return ordered[: most + 1].count()


def _has(member: Member, text: str, readable: Q | None) -> Q:
    """Rows with these words. Sealed ones find only what this member may read."""
    team_id = member.team_id
    everywhere = said(team_id, text, sealed=True)
    if member.may(Permission.SEE_ALL_PAYLOADS):
        return everywhere
    seen = Q(started_by=member.user_id) if readable is None else readable
    return said(team_id, text, sealed=False) | (seen & everywhere)
