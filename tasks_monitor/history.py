"""The history of a team's operations: years of them, at the cost of the rows that are shown.

Everything here reads HistoryEntry and its indexes; operations are read for the rows of one page.
"""

from typing import Any

from django.db.models import Q, QuerySet

from mcpdesk import keyset
from mcpdesk.accounts.access import Member, Permission, in_team
from mcpdesk.keyset import Slice
from tasks_monitor.history_filters import OperationFilters, said
from tasks_monitor.models import HistoryEntry, Operation

PAGE_ROWS = 50
#: Left out of rows: each value costs a decryption, and no list shows one.
_ENCRYPTED = ("task_id", "server__credential", "server__discovery")


def page(
    member: Member,
    filters: OperationFilters,
    cursor: str = "",
    size: int = PAGE_ROWS,
    *,
    readable: Q | None = None,
) -> Slice[Operation]:
    """The operations at a cursor, each with its `history`; two queries. `readable` as entries()."""
    found = keyset.page(entries(member, filters, readable), filters.order, cursor, size)
    return Slice(operations_of(found.rows), found.before, found.after)


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


def operations_of(entries: list[HistoryEntry]) -> list[Operation]:
    """The operations of these lines, in their order, with what a row shows."""
    related = Operation.objects.select_related("server", "started_by", "token").defer(*_ENCRYPTED)
    operations: dict[Any, Operation] = related.in_bulk([entry.pk for entry in entries])
    for entry in entries:
        operations[entry.pk].history = entry
    return [operations[entry.pk] for entry in entries]


def count_up_to(member: Member, filters: OperationFilters, most: int = 1000) -> int:
    """How many fit; one more than `most` where there are more than that."""
    ordered = entries(member, filters).order_by(*filters.order.names)
    return ordered[: most + 1].count()


def _has(member: Member, text: str, readable: Q | None) -> Q:
    """Rows with these words. Sealed ones find only what this member may read."""
    team_id = member.team_id
    everywhere = said(team_id, text, sealed=True)
    if member.may(Permission.SEE_ALL_PAYLOADS):
        return everywhere
    seen = Q(started_by=member.user_id) if readable is None else readable
    return said(team_id, text, sealed=False) | (seen & everywhere)
