"""An operation's events for its page: the newest, those before them, and the moves among them."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from mcpdesk.audit.models import Event
from tasks_monitor.models import Operation
from tasks_monitor.phases import Move
from tasks_monitor.states import State

#: Events on the page at first, and in each further part of the timeline.
PAGE_EVENTS: Final = 50
#: A page that is open for long shows at most so many in the part that grows.
GROWN_EVENTS: Final = 300
#: Changes of state that the bar of phases is made of, the newest ones.
MOST_MOVES: Final = 500

_BY_LABEL: Final = {state.label: state for state in State}


@dataclass(frozen=True, slots=True)
class Events:
    """Some of the events, newest first. `older`: there are more before the last of them.

    `cut`: it grew so long that some between this part and the next are left out.
    """

    rows: list[Event]
    older: bool
    cut: bool = False

    @property
    def first_id(self) -> int | None:
        """The id of the oldest event here: the growing part begins there, older ones before it."""
        return self.rows[-1].pk if self.rows else None


def newest(operation: Operation) -> Events:
    """The newest events of the operation."""
    return _page(_events(operation))


def older(operation: Operation, before: int) -> Events:
    """The events before the one with that id."""
    return _page(_events(operation).filter(pk__lt=before))


def grown(operation: Operation, first_id: int) -> Events:
    """What `newest` showed down to that event, with all that was added since."""
    rows = list(_events(operation).filter(pk__gte=first_id)[: GROWN_EVENTS + 1])
    return Events(rows[:GROWN_EVENTS], older=False, cut=len(rows) > GROWN_EVENTS)


def moves(operation: Operation) -> tuple[list[Move], bool]:
    """The changes of its state in order, and whether these are all of them."""
    moved = _events(operation).filter(kind="operation.moved").only("at", "data", "kind")
    rows = list(moved[: MOST_MOVES + 1])
    known = [_move(event) for event in reversed(rows[:MOST_MOVES])]
    return [move for move in known if move is not None], len(rows) <= MOST_MOVES


def _move(event: Event) -> Move | None:
    """None for labels that another version of the desk wrote."""
    before, after = (_BY_LABEL.get(event.data.get(name, "")) for name in ("before", "after"))
    return Move(event.at, before, after) if before and after else None


def _events(operation: Operation) -> QuerySet[Event]:
    mine: UUID = operation.pk
    return Event.objects.filter(operation_id=mine, team_id=operation.team_id).order_by("-id")


def _page(events: QuerySet[Event]) -> Events:
    rows = list(events[: PAGE_EVENTS + 1])
    return Events(rows[:PAGE_EVENTS], older=len(rows) > PAGE_EVENTS)
