"""Quiet hours and digests by the clock on a person's wall, whatever that clock does."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.notify import quiet

#: Clocks with and without summer time, by half hours, over the date line, and one that skipped a
#: whole day (Apia, 30 December 2011).
ZONES = st.sampled_from(
    [
        *("UTC", "Europe/Warsaw", "America/New_York", "America/Sao_Paulo", "Asia/Kathmandu"),
        *("Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham"),
    ]
).map(ZoneInfo)
MOMENTS = st.datetimes(datetime(2010, 1, 1), datetime(2030, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)
MINUTES = st.times().map(lambda clock: clock.replace(second=0, microsecond=0))


@dataclass(frozen=True)
class Wishes:
    timing: str = "at_once"
    daily_at: time = time(8)
    quiet_from: time | None = None
    quiet_to: time | None = None


def shown(moment: datetime, zone: ZoneInfo) -> time:
    return moment.astimezone(zone).time()


WARSAW = ZoneInfo("Europe/Warsaw")


def warsaw(*numbers: int, fold: int = 0) -> datetime:
    return datetime(*numbers, tzinfo=WARSAW, fold=fold).astimezone(UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("at", "until"),
    [
        # over midnight
        (warsaw(2026, 11, 29, 21, 59), warsaw(2026, 11, 29, 21, 59)),
        (warsaw(2026, 11, 29, 22, 0), warsaw(2026, 11, 30, 7, 0)),
        (warsaw(2026, 11, 30, 6, 59), warsaw(2026, 11, 30, 7, 0)),
        (warsaw(2026, 11, 30, 7, 0), warsaw(2026, 11, 30, 7, 0)),
        # the night in which the clocks go forward, and the one in which they go back
        (warsaw(2026, 3, 28, 23, 0), warsaw(2026, 3, 29, 7, 0)),
        (warsaw(2026, 10, 24, 23, 0), warsaw(2026, 10, 25, 7, 0)),
    ],
)
def test_quiet_hours_over_midnight_end_in_the_morning(at: datetime, until: datetime) -> None:
    wishes = Wishes(quiet_from=time(22), quiet_to=time(7))
    assert quiet.at_once(wishes, WARSAW, at) == until


def test_an_end_that_the_clock_skips_counts_as_the_moment_after() -> None:
    wishes = Wishes(quiet_from=time(22), quiet_to=time(2, 30))
    until = quiet.at_once(wishes, WARSAW, warsaw(2026, 3, 28, 23, 0))
    assert shown(until, WARSAW) == time(3, 30)


def test_an_end_that_the_clock_shows_twice_counts_the_first_time() -> None:
    wishes = Wishes(quiet_from=time(22), quiet_to=time(2, 30))
    until = quiet.at_once(wishes, WARSAW, warsaw(2026, 10, 24, 23, 0))
    assert until == warsaw(2026, 10, 25, 2, 30, fold=0)


@given(ZONES, MOMENTS, MINUTES, MINUTES)
def test_nothing_is_told_in_quiet_hours_nor_held_back_for_ever(
    zone: ZoneInfo, at: datetime, start: time, end: time
) -> None:
    wishes = Wishes(quiet_from=start, quiet_to=end)
    told = quiet.at_once(wishes, zone, at)
    assert at <= told <= at + timedelta(hours=50)
    assert (told > at) == quiet._within(shown(at, zone), start, end)


@given(ZONES, MOMENTS)
def test_without_quiet_hours_nothing_is_held_back(zone: ZoneInfo, at: datetime) -> None:
    assert quiet.at_once(Wishes(), zone, at) == at


@given(ZONES, MOMENTS)
def test_an_hourly_digest_goes_when_the_wall_shows_a_whole_hour(
    zone: ZoneInfo, at: datetime
) -> None:
    told = quiet.in_digest(Wishes("hourly"), zone, at)
    assert at < told <= at + timedelta(hours=1)
    assert told.astimezone(zone).minute == 0 or zone.key == "Australia/Lord_Howe"


@given(ZONES, MOMENTS, MINUTES)
def test_a_daily_digest_goes_within_two_days_at_its_time(
    zone: ZoneInfo, at: datetime, clock: time
) -> None:
    told = quiet.in_digest(Wishes("daily", daily_at=clock), zone, at)
    assert at < told <= at + timedelta(hours=50)


def test_a_digest_that_falls_into_quiet_hours_waits_for_their_end() -> None:
    wishes = Wishes("daily", daily_at=time(6), quiet_from=time(22), quiet_to=time(7))
    told = quiet.in_digest(wishes, WARSAW, warsaw(2026, 11, 29, 12, 0))
    assert told == warsaw(2026, 11, 30, 7, 0)
