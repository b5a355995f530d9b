"""What the history can be narrowed by, as plain values: pages, the API and exports read the same
address. A value that means nothing does not narrow.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Final, Self
from urllib.parse import urlencode

from django.db.models import Q
from django.utils import timezone

from mcpdesk import blind, narrowing
from mcpdesk.keyset import Order
from mcpdesk.mcp.jsontext import storable
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State

_MAX_ID_DIGITS: Final = 18
_DURATION: Final = re.compile(r"([0-9]{1,9})([smhd]?)")
_UNIT_S: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

#: Who started it, where that is no person.
SERVICE: Final = "service"


class Sort(StrEnum):
    """The orders of a list; LONGEST lists only what has ended."""

    NEWEST = "newest"
    OLDEST = "oldest"
    LONGEST = "longest"


class Outcome(StrEnum):
    """What became of an operation, by more than its state."""

    SUCCEEDED = "succeeded"
    TOOL_ERROR = "tool_error"
    ENDED_OTHERWISE = "ended_otherwise"
    NEEDS_OPERATOR = "needs_operator"
    NOT_ENDED = "not_ended"


OUTCOME_LABELS: Final = {
    Outcome.SUCCEEDED: "Completed, no error",
    Outcome.TOOL_ERROR: "Completed, the tool reported an error",
    Outcome.ENDED_OTHERWISE: "Failed, cancelled, denied or expired",
    Outcome.NEEDS_OPERATOR: "Lost, stuck or unknown",
    Outcome.NOT_ENDED: "Not ended yet",
}
_OF_OUTCOME: Final = {
    Outcome.SUCCEEDED: Q(state=State.COMPLETED, is_error=False),
    Outcome.TOOL_ERROR: Q(is_error=True),
    Outcome.ENDED_OTHERWISE: Q(state__in=TERMINAL - {State.COMPLETED}),
    Outcome.NEEDS_OPERATOR: Q(state__in=NEEDS_OPERATOR),
    Outcome.NOT_ENDED: Q(state__in=frozenset(State) - TERMINAL),
}


@dataclass(frozen=True, slots=True)
class HistoryFilters:
    """What narrows any list of the history; empty fields do not."""

    started_by: str = ""  # a person's id, or SERVICE
    decided_by: str = ""  # a person's id: they had a say in it
    server: str = ""  # its id
    tool: str = ""  # its whole name
    since: str = ""  # begun then or later: a day (in the reader's zone), or a moment (ISO 8601)
    until: str = ""  # begun then or earlier; a day is meant to its end
    longer: str = ""  # took so long or longer: 90, 90s, 15m, 2h, 3d
    shorter: str = ""  # took so long or less
    text: str = ""  # all of these words, in whatever of it the reader may read
    sort: str = Sort.NEWEST

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """The filters in an address."""
        return cls(**narrowing.meant(given, [one.name for one in fields(cls)], cls.means))

    @classmethod
    def means(cls, name: str, value: str) -> bool:
        """Whether a value of an address means anything for the field of that name."""
        if not value or not storable(value) or name not in {one.name for one in fields(cls)}:
            return False
        check = _CHECKS.get(name)
        return check is None or check(value)

    @classmethod
    def left_out(cls, given: Mapping[str, str]) -> list[tuple[str, str]]:
        """What an address gives that means nothing, by field."""
        return narrowing.left_out(given, [one.name for one in fields(cls)], cls.means)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """What of an address names this list, without what goes without saying."""
        pairs = [(name, str(value)) for name, value in asdict(self).items() if value]
        return [pair for pair in pairs if pair != ("sort", Sort.NEWEST)]

    @property
    def query(self) -> str:
        return urlencode(self.fields)

    @property
    def narrow(self) -> bool:
        return any(name != "sort" for name, _ in self.fields)

    @property
    def order(self) -> Order:
        column = "took_ms" if self.sort == Sort.LONGEST else "created_at"
        return Order(column, descending=self.sort != Sort.OLDEST)

    @property
    def counted_along(self) -> Order:
        """The order in which what fits is found soonest, to count it: by length if that narrows.

        Of what took five seconds at most, a thousand stand together there; by age, they are
        scattered over all that took longer. Dates narrow what is looked through by age.
        """
        by_length = (self.longer or self.shorter) and not (self.since or self.until)
        return Order("took_ms", descending=False) if by_length else self.order

    def sorted_by(self, sort: Sort) -> Self:
        return replace(self, sort=sort)

    def conditions(self, team_id: int) -> Q:
        """What a row's own columns have to say; not the words, which depend on who asks."""
        found = Q()
        if self.server:
            found &= Q(server=int(self.server))
        if self.tool:
            found &= Q(tool_name=self.tool)
        if self.started_by:
            by = None if self.started_by == SERVICE else int(self.started_by)
            found &= Q(started_by__isnull=True) if by is None else Q(started_by=by)
        if self.decided_by:
            marks = blind.marks(team_id, blind.DECIDED, int(self.decided_by))
            found &= Q(words__overlap=marks)
        return found & self._begun() & self._took()

    def _begun(self) -> Q:
        found = Q()
        if self.since:
            found &= Q(created_at__gte=_moment(self.since, timedelta()))
        if self.until:
            found &= Q(created_at__lt=_moment(self.until, timedelta(days=1)))
        return found

    def _took(self) -> Q:
        found = Q(took_ms__isnull=False) if self.sort == Sort.LONGEST else Q()
        if self.longer:
            found &= Q(took_ms__gte=_milliseconds(self.longer))
        if self.shorter:
            found &= Q(took_ms__lte=_milliseconds(self.shorter))
        return found


@dataclass(frozen=True, slots=True)
class OperationFilters(HistoryFilters):
    """What narrows the history of operations."""

    state: str = ""  # a State
    outcome: str = ""  # an Outcome

    @classmethod
    def means(cls, name: str, value: str) -> bool:
        known: dict[str, list[str]] = {"state": State.values, "outcome": list(Outcome)}
        if name in known:
            return value in known[name]
        # zero-argument super() does not find its class where slots made a new one
        return super(OperationFilters, cls).means(name, value)

    def conditions(self, team_id: int) -> Q:
        found = super(OperationFilters, self).conditions(team_id)
        if self.state:
            found &= Q(state=self.state)
        return found & _OF_OUTCOME[Outcome(self.outcome)] if self.outcome else found


def said(team_id: int, text: str, *, sealed: bool) -> Q:
    """Rows that have every word of a text among their open ones, or also among the sealed ones."""
    found = Q()
    for numbers in blind.asked(team_id, text):
        both = [*numbers, *(-number for number in numbers)] if sealed else numbers
        found &= Q(words__overlap=both)
    return found


def _is_id(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) <= _MAX_ID_DIGITS


def _is_moment(value: str) -> bool:
    try:
        _moment(value, timedelta(days=1))
    except (ValueError, OverflowError):
        return False
    return True


def _moment(value: str, day: timedelta) -> datetime:
    """A moment as it is; of a day its beginning in the current zone, `day` later. Aware UTC."""
    try:
        begin = datetime.combine(date.fromisoformat(value) + day, time(), _zone())
    except ValueError:
        begin = datetime.fromisoformat(value)
    return (begin if begin.tzinfo else begin.replace(tzinfo=_zone())).astimezone(UTC)


def _zone() -> tzinfo:
    return timezone.get_current_timezone()


def _milliseconds(value: str) -> int:
    match = _DURATION.fullmatch(value)
    return int(match[1]) * _UNIT_S[match[2]] * 1000 if match else 0


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "started_by": lambda value: value == SERVICE or _is_id(value),
    "decided_by": _is_id,
    "server": _is_id,
    "since": _is_moment,
    "until": _is_moment,
    "longer": lambda value: _DURATION.fullmatch(value) is not None,
    "shorter": lambda value: _DURATION.fullmatch(value) is not None,
    "text": lambda value: bool(blind.words(value)),
    "sort": lambda value: value in list(Sort),
}
