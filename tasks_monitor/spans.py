"""The ranges that charts show, cut into buckets along the reader's own clock. Pure."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Final


class Range(StrEnum):
    """How far back a chart looks; the value stands in the address."""

    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    QUARTER = "90d"

    @property
    def label(self) -> str:
        return _LABELS[self]

    @classmethod
    def read(cls, text: str) -> "Range":
        """The range that an address names; a day for anything else."""
        return cls(text) if text in list(cls) else cls.DAY


_LABELS: Final = {
    Range.DAY: "24 hours",
    Range.WEEK: "7 days",
    Range.MONTH: "30 days",
    Range.QUARTER: "90 days",
}
_DAYS: Final = {Range.MONTH: 30, Range.QUARTER: 90}
_QUARTERS_OF_A_DAY: Final = (time(0), time(6), time(12), time(18))


@dataclass(frozen=True, slots=True)
class Span:
    """A range up to now: bucket i reaches from edges[i] to edges[i + 1] (UTC, ascending)."""

    range: Range
    edges: tuple[datetime, ...]

    @property
    def begin(self) -> datetime:
        return self.edges[0]

    @property
    def end(self) -> datetime:
        return self.edges[-1]

    @property
    def buckets(self) -> int:
        return len(self.edges) - 1


def span(wanted: Range, now: datetime, zone: tzinfo) -> Span:
    """The range that ends with the bucket of `now` (aware).

    A day has 24 buckets of an hour; a week 28 that begin at 0, 6, 12 and 18 o'clock; longer ones
    have a bucket for each day, 23 or 25 hours long when the clocks change.
    """
    if wanted is Range.DAY:
        return Span(wanted, _hours(now, zone))
    if wanted is Range.WEEK:
        return Span(wanted, _around(now, _starts(now, zone, 9, _QUARTERS_OF_A_DAY), 28))
    days = _DAYS[wanted]
    return Span(wanted, _around(now, _starts(now, zone, days + 2, (time(0),)), days))


def _hours(now: datetime, zone: tzinfo) -> tuple[datetime, ...]:
    """Full hours of the zone's own clock: some zones are half an hour off."""
    local = now.astimezone(zone)
    past = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    begin = now.astimezone(UTC) - past - timedelta(hours=23)
    return tuple(begin + timedelta(hours=number) for number in range(25))


def _starts(now: datetime, zone: tzinfo, days: int, clock: tuple[time, ...]) -> Iterator[datetime]:
    """The given times of so many days, the day after tomorrow the last one."""
    today = now.astimezone(zone).date()
    for back in range(days, -3, -1):
        for at in clock:
            day = today - timedelta(days=back)
            yield datetime.combine(day, at, zone).astimezone(UTC)


def _around(now: datetime, starts: Iterator[datetime], buckets: int) -> tuple[datetime, ...]:
    """The edges of so many buckets, the last one with `now` in it."""
    edges = sorted(starts)
    end = bisect_right(edges, now)
    return tuple(edges[end - buckets : end + 1])
