"""What the log is narrowed by beyond its own columns: the operations its events are about."""

from dataclasses import dataclass
from typing import Final

from django.db.models import QuerySet

from mcpdesk.accounts.access import Member
from mcpdesk.audit import selectors
from mcpdesk.audit.event_filters import EventFilters
from mcpdesk.audit.models import Event
from tasks_monitor import history
from tasks_monitor.history_filters import OperationFilters

#: So many operations are named one by one: events of few of them are then found soon, also far
#: down in the log. More of them are met soon on the way down.
NAMED: Final = 2000
_OF_OPERATIONS: Final = ("tool", "state", "text")


@dataclass(frozen=True, slots=True)
class LogFilters(EventFilters):
    """What narrows the log of a team; of operations, as the history does."""

    tool: str = ""
    state: str = ""  # a State: the one that the operation is in now
    text: str = ""

    @classmethod
    def means(cls, name: str, value: str) -> bool:
        if name in _OF_OPERATIONS:
            return OperationFilters.means(name, value)
        # zero-argument super() does not find its class where slots made a new one
        return super(LogFilters, cls).means(name, value)

    @property
    def operations(self) -> OperationFilters:
        """Which operations its events have to be about."""
        return OperationFilters(tool=self.tool, state=self.state, text=self.text)


def events(member: Member, filters: LogFilters) -> QuerySet[Event]:
    """The team's events that the filters leave; nothing for who may not read the history."""
    found = selectors.events(member, filters)
    wanted = filters.operations
    if not wanted.narrow:
        return found
    lines = history.entries(member, wanted).values_list("pk", flat=True)
    named = list(lines.order_by(*wanted.order.names)[: NAMED + 1])
    return found.filter(operation_id__in=lines if len(named) > NAMED else named)
