"""The export of events: a line for each, oldest first, with the words that the page shows."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet

from mcpdesk.accounts.access import Member
from mcpdesk.audit.exports import Subject
from mcpdesk.audit.locks import settled_up_to
from mcpdesk.audit.models import Event, shown
from mcpdesk.audit.selectors import OLDEST_FIRST
from tasks_monitor.event_filters import LogFilters, events

_COLUMNS: Final = (
    *("id", "at", "kind", "words", "actor", "channel", "operation", "approval", "server"),
    "data",
)


def _clean(given: Mapping[str, str]) -> str:
    return LogFilters.read(given).query


def _rows(member: Member, given: Mapping[str, str], until: datetime) -> QuerySet[Event]:
    """Raises Busy. Ids are given out before their transactions commit: a file that passed one which
    is still to come would leave it out for ever.
    """
    found = events(member, LogFilters.read(given))
    return found.filter(at__lte=until, pk__lte=settled_up_to())


def _values(rows: list[Event], sealed: bool) -> Iterator[Sequence[Any]]:
    for event in rows:
        yield [
            *(event.pk, event.at, event.kind, event.sentence, shown(event.actor_name)),
            *(event.channel, event.operation_id, event.approval_id, event.server_id),
            {name: shown(value) for name, value in event.data.items()},
        ]


EVENTS: Final = Subject(
    name="events",
    columns=_COLUMNS,
    sealed=(),
    order=OLDEST_FIRST,
    clean=_clean,
    means=LogFilters.means,
    rows=_rows,
    values=_values,
)
