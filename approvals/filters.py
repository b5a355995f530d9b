"""Which list of the inbox is shown: its tab and what narrows it, read from an address and written
back into one. What is in no list of ours is dropped, never passed on.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self
from urllib.parse import urlencode

from django.db.models import Q, QuerySet

from approvals.models import Approval, Shape
from mcpdesk.accounts.access import Member

#: A deadline closer than this is near: it is seen first, and can be filtered for.
NEAR = timedelta(minutes=30)
MAX_CHARS = 100
_MAX_ID_DIGITS = 18


_NAMES = {
    "server": "server",
    "tool": "tool",
    "shape": "kind",
    "starter": "who started it",
    "claimed": "claim",
    "near": "time left",
    "text": "text",
}


class Tab(StrEnum):
    """The lists of the inbox; ASIDE holds what this person said "Not now" to."""

    MINE = "mine"
    TEAM = "team"
    DECIDED = "decided"
    ASIDE = "aside"


class Starter(StrEnum):
    """Who started it, where that is no person by id."""

    ME = "me"
    SERVICE = "service"


class Claimed(StrEnum):
    """Who works on it."""

    ME = "me"
    SOMEBODY = "somebody"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows a list; empty fields do not."""

    server: str = ""  # its name
    tool: str = ""  # part of its name
    shape: str = ""
    starter: str = ""  # a Starter, or a person's id
    claimed: str = ""  # a Claimed
    near: str = ""  # "yes": the deadline is near
    text: str = ""  # part of tool, server, reason, or of the name of whoever started it

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """The filters in an address; a value that means nothing does not narrow."""
        starter = given.get("starter", "")
        is_person = starter.isdecimal() and len(starter) <= _MAX_ID_DIGITS
        return cls(
            server=given.get("server", "")[:MAX_CHARS],
            tool=given.get("tool", "")[:MAX_CHARS],
            shape=_one_of(Shape.values, given.get("shape", "")),
            starter=starter if is_person else _one_of(list(Starter), starter),
            claimed=_one_of(list(Claimed), given.get("claimed", "")),
            near=_one_of(["yes"], given.get("near", "")),
            text=given.get("text", "").strip()[:MAX_CHARS],
        )

    @property
    def narrow(self) -> bool:
        return bool(self.names)

    @property
    def names(self) -> list[str]:
        """What it is narrowed by, in words of ours."""
        return [_NAMES[field] for field, value in asdict(self).items() if value]

    def apply(
        self, queryset: QuerySet[Approval], member: Member, now: datetime
    ) -> QuerySet[Approval]:
        """The rows that fit, as `member` would see them at `now` (UTC)."""
        if self.server:
            queryset = queryset.filter(operation__server__name=self.server)
        if self.tool:
            queryset = queryset.filter(operation__tool_name__icontains=self.tool)
        if self.shape:
            queryset = queryset.filter(shape=self.shape)
        if self.near:
            soon = now + NEAR
            queryset = queryset.filter(
                Q(deadline_at__lt=soon) | Q(operation__expires_at__lt=soon), state="open"
            )
        return queryset.filter(
            _started_by(self.starter, member), _claimed(self.claimed, member, now), _has(self.text)
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """One list: a tab, what narrows it, and the row behind which it goes on (empty: the top)."""

    tab: Tab = Tab.MINE
    filters: Filters = Filters()
    after: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """The list an address asks for; the list "For me" where it asks for none."""
        tab = _one_of(list(Tab), given.get("tab", ""))
        return cls(Tab(tab or Tab.MINE), Filters.read(given), given.get("after", "")[:MAX_CHARS])

    @property
    def fields(self) -> list[tuple[str, str]]:
        """What of an address names this list; nothing for the whole of "For me"."""
        tab = "" if self.tab is Tab.MINE else self.tab.value
        named = {"tab": tab, **asdict(self.filters), "after": self.after}
        return [(name, value) for name, value in named.items() if value]

    @property
    def query(self) -> str:
        """The part of an address that names this list."""
        return urlencode(self.fields)

    @property
    def suffix(self) -> str:
        """The query with its question mark, to be put behind a path."""
        return f"?{self.query}" if self.query else ""

    def beginning(self) -> Self:
        """The same list from its top."""
        return replace(self, after="")

    def behind(self, after: str) -> Self:
        """The same list, from behind the row that the cursor names."""
        return replace(self, after=after)

    def whole(self) -> Self:
        """The same tab, not narrowed."""
        return replace(self, filters=Filters(), after="")


def _one_of(known: list[str], value: str) -> str:
    return value if value in known else ""


def _started_by(starter: str, member: Member) -> Q:
    if starter == Starter.SERVICE:
        return Q(operation__started_by__isnull=True)
    if starter == Starter.ME:
        return Q(operation__started_by=member.user_id)
    return Q(operation__started_by=int(starter)) if starter else Q()


def _claimed(claimed: str, member: Member, now: datetime) -> Q:
    """A claim is over by itself at its end."""
    in_force = Q(claimed_until__gt=now)
    if claimed == Claimed.ME:
        return in_force & Q(claimed_by=member.user_id)
    if claimed == Claimed.SOMEBODY:
        return in_force
    return Q(claimed_until__isnull=True) | Q(claimed_until__lte=now) if claimed else Q()


def _has(text: str) -> Q:
    """What is stored in clear and shown to everybody; messages and arguments are encrypted."""
    if not text:
        return Q()
    places = ("tool_name", "server__name", "reason", "started_by__name")
    found = Q()
    for place in places:
        found |= Q(**{f"operation__{place}__icontains": text})
    return found
