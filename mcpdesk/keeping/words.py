"""The words that operations and items are found by, once their texts are deleted."""

from collections import defaultdict
from uuid import UUID

from approvals.models import Approval, Vote
from mcpdesk import blind
from mcpdesk.keeping.parts import Operations
from tasks_monitor.models import HistoryEntry

Deciders = defaultdict[UUID, set[int]]


def leave_the_open_ones(operations: Operations) -> None:
    """Operations and items stay found by what their rows still say, and by who decided them."""
    rows = list(
        operations.select_related("server").only("pk", "team_id", "tool_name", "server__name")
    )
    ids = [row.pk for row in rows]
    votes = Vote.objects.filter(approval__operation__in=ids)
    of_operation: Deciders = defaultdict(set)
    of_item: Deciders = defaultdict(set)
    for item, operation, user in votes.values_list("approval", "approval__operation", "user"):
        of_operation[operation].add(user)
        of_item[item].add(user)
    for row in rows:
        named = (row.tool_name, row.server.name, str(row.pk))
        numbers = _numbers(row.team_id, named, of_operation[row.pk])
        HistoryEntry.objects.filter(pk=row.pk).update(words=numbers)
        for item in Approval.objects.filter(operation=row.pk).values_list("pk", flat=True):
            numbers = _numbers(row.team_id, (*named, str(item)), of_item[item])
            Approval.objects.filter(pk=item).update(words=numbers)


def _numbers(team_id: int, texts: tuple[str, ...], deciders: set[int]) -> list[int]:
    marks = [blind.mark(team_id, blind.DECIDED, user) for user in sorted(deciders)]
    return [*blind.open_numbers(team_id, *texts), *marks][: blind.MAX_NUMBERS]
