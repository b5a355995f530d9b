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
    member: Member, filters: OperationFilters, cursor: str = "", size: int = PAGE_ROWS
) -> Slice[Operation]:
    """The operations at a cursor, each with its `history`; two queries."""
    found = keyset.page(entries(member, filters), filters.order, cursor, size)
    return Slice(operations_of(found.rows), found.before, found.after)


def entries(member: Member, filters: OperationFilters) -> QuerySet[HistoryEntry]:
    """The lines of the history that fit, in no order."""
    team = in_team(member, HistoryEntry.objects.defer("words"))
    found = team.filter(filters.conditions(member.team_id))
    return found.filter(_has(member, filters.text)) if filters.text else found


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


def _has(member: Member, text: str) -> Q:
    """Rows with these words. Who may not read payloads finds theirs by sealed words, no others."""
    team_id = member.team_id
    everywhere = said(team_id, text, sealed=True)
    if member.may(Permission.SEE_ALL_PAYLOADS):
        return everywhere
    mine = Q(started_by=member.user_id) if member.user_id else Q(pk__in=[])
    return said(team_id, text, sealed=False) | (mine & everywhere)
