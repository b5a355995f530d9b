"""What the log can be narrowed by, as plain values of an address. What means nothing is dropped."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime, time, timedelta
from typing import Self
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from mcpdesk import narrowing
from mcpdesk.audit.kinds import KINDS
from mcpdesk.audit.models import Channel

#: Who did it, where that is no person: the desk itself, or a service.
NOBODY = "nobody"
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class EventFilters:
    """Empty fields do not narrow."""

    who: str = ""  # a person's id, or NOBODY
    kind: str = ""
    server: str = ""  # its id
    about: str = ""  # the id of an operation or of an item
    channel: str = ""
    since: str = ""  # a day in the reader's zone, or a moment (ISO 8601): then or later
    until: str = ""  # then or earlier; a day is meant to its end

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """The filters in an address."""
        return cls(**narrowing.meant(given, [one.name for one in fields(cls)], cls.means))

    @classmethod
    def means(cls, name: str, value: str) -> bool:
        """Whether a value of an address means anything for the field of that name."""
        try:
            return bool(value) and name in _CHECKS and _CHECKS[name](value)
        except (ValueError, OverflowError):
            return False

    @classmethod
    def left_out(cls, given: Mapping[str, str]) -> list[tuple[str, str]]:
        """What an address gives that means nothing, by field."""
        return narrowing.left_out(given, [one.name for one in fields(cls)], cls.means)

    @property
    def query(self) -> str:
        """What of an address names this list."""
        return urlencode({name: value for name, value in asdict(self).items() if value})

    @property
    def narrow(self) -> bool:
        return bool(self.query)

    @property
    def begins_at(self) -> datetime | None:
        return _moment(self.since) if self.since else None

    @property
    def ends_before(self) -> datetime | None:
        if not self.until:
            return None
        is_day = len(self.until) == len("2026-11-29")
        return _moment(self.until) + (timedelta(days=1) if is_day else timedelta(microseconds=1))

    def conditions(self) -> Q:
        """What an event has to be, as a condition on Event."""
        found = Q()
        if self.who:
            found &= Q(actor__isnull=True) if self.who == NOBODY else Q(actor=int(self.who))
        if self.kind:
            found &= Q(kind=self.kind)
        if self.server:
            found &= Q(server_id=int(self.server))
        if self.about:
            found &= Q(operation_id=self.about) | Q(approval_id=self.about)
        if self.channel:
            found &= Q(channel=self.channel)
        if self.begins_at:
            found &= Q(at__gte=self.begins_at)
        if self.ends_before:
            found &= Q(at__lt=self.ends_before)
        return found


def _is_id(value: str) -> bool:
    return value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS


def _is_moment(value: str) -> bool:
    return 1970 <= _moment(value).year <= 2999


def _moment(text: str) -> datetime:
    """A moment; a day, and a time without a zone, are meant in the reader's. Raises ValueError."""
    try:
        at = datetime.combine(date.fromisoformat(text), time.min)
    except ValueError:
        at = datetime.fromisoformat(text)
    return at if at.tzinfo else timezone.make_aware(at)


_CHECKS = {
    "who": lambda value: value == NOBODY or _is_id(value),
    "kind": lambda value: value in KINDS,
    "server": _is_id,
    "about": lambda value: bool(UUID(value)),
    "channel": lambda value: value in Channel.values,
    "since": _is_moment,
    "until": _is_moment,
}
