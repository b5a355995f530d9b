"""When a person may be told: quiet hours and digests, by the clock on their own wall. Pure.

Where a wall clock shows a time twice, quiet hours and digests end with the first that is still to
come; a time that it skips counts as the moment an hour later (PEP 495).
"""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Protocol

_HOUR = timedelta(hours=1)


class Wishes(Protocol):
    """The part of models.Preference that says when; times are in the person's zone."""

    timing: str
    daily_at: time
    quiet_from: time | None
    quiet_to: time | None


def at_once(wishes: Wishes, zone: tzinfo, at: datetime) -> datetime:
    """The first moment from `at` on outside the quiet hours (aware UTC in, aware UTC out)."""
    if wishes.quiet_from is None or wishes.quiet_to is None:
        return at
    if not _within(at.astimezone(zone).time(), wishes.quiet_from, wishes.quiet_to):
        return at
    return _next(wishes.quiet_to, zone, at)


def in_digest(wishes: Wishes, zone: tzinfo, at: datetime) -> datetime:
    """When the next digest after `at` goes, outside the quiet hours (aware UTC)."""
    if wishes.timing == "hourly":
        local = at.astimezone(zone)
        into = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        return at_once(wishes, zone, at + (_HOUR - into))
    return at_once(wishes, zone, _next(wishes.daily_at, zone, at))


def _within(clock: time, start: time, end: time) -> bool:
    if start <= end:
        return start <= clock < end
    return clock >= start or clock < end


def _next(clock: time, zone: tzinfo, at: datetime) -> datetime:
    """The first moment after `at` at which the wall clock shows this time."""
    today = at.astimezone(zone).date()
    return min(moment for moment in _moments(clock, zone, today) if moment > at)


def _moments(clock: time, zone: tzinfo, today: date) -> list[datetime]:
    """Candidates around midnight and around a changed clock; some may have passed."""
    days = [datetime.combine(today + timedelta(days=number), clock, zone) for number in range(3)]
    first = [day.astimezone(UTC) for day in days]
    again = [day.replace(fold=1).astimezone(UTC) for day in days]
    return [*first, *(moment for moment in again if moment.astimezone(zone).time() == clock)]
