"""The words an operation is found by, written in the transaction that writes their text.

Open words are those of what everybody in the team may read (tool, server, id, reason, why it
ended); sealed ones those of payloads: what the server said and asked, and people's reasons.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import BigIntegerField, Func, Model, QuerySet, Value

from mcpdesk import blind
from tasks_monitor.models import HistoryEntry, Operation


class With(Func):
    """An array of numbers with more of them behind, each once, as many as there is room for.

    `first` stand in front of all others: for them there is always room.
    """

    template = (
        "ARRAY(SELECT number FROM unnest(%(expressions)s) WITH ORDINALITY AS one (number, place)"
        " GROUP BY number ORDER BY min(place) LIMIT %(most)s)"
    )
    arg_joiner = " || "

    def __init__(self, column: str, numbers: Iterable[int], first: Iterable[int] = ()) -> None:
        whole = ArrayField(BigIntegerField())
        before, behind = Value(list(first), whole), Value(list(numbers), whole)
        super().__init__(before, column, behind, output_field=whole, most=blind.MAX_NUMBERS)


def of_new(operation: Operation) -> list[int]:
    """The words a new operation begins with; its server is loaded."""
    texts = (operation.tool_name, operation.server.name, str(operation.pk), operation.reason)
    return blind.open_numbers(operation.team_id, *texts)[: blind.MAX_NUMBERS]


def say(operation: Operation, *texts: str) -> None:
    """The server, or a person, said this beside the payload: sealed words."""
    add(HistoryEntry.objects.filter(pk=operation.pk), sealed(operation.team_id, *texts))


def sealed(team_id: int, *texts: str) -> list[int]:
    """The numbers of sealed texts; empty ones have none."""
    return blind.sealed_numbers(team_id, *texts)


def message_of(params: object) -> str:
    """The server's message to people in the params of a question; empty where there is none."""
    message = params.get("message") if isinstance(params, dict) else None
    return message if isinstance(message, str) else ""


def add(rows: QuerySet[Model], numbers: list[int], first: Sequence[int] = ()) -> None:
    """Let these rows be found by more numbers, in any case by `first`. Rows that have them all are
    not written.
    """
    if numbers or first:
        lacking = rows.exclude(words__contains=[*first, *numbers])
        lacking.update(words=With("words", numbers, first))


def mark_decided(operation_id: UUID, team_id: int, user_id: int) -> None:
    """This person had a say in what became of the operation, however much a server says."""
    mark = blind.mark(team_id, blind.DECIDED, user_id)
    add(HistoryEntry.objects.filter(pk=operation_id), [], first=[mark])
