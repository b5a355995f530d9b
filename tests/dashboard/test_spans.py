"""Ranges along the reader's own clock: whole hours and days, also when the clocks change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_monitor.spans import Range, span

WARSAW, KOLKATA = ZoneInfo("Europe/Warsaw"), ZoneInfo("Asia/Kolkata")
HOUR = timedelta(hours=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(["UTC", "Europe/Warsaw", "Asia/Kolkata", "America/Sao_Paulo", "Pacific/Apia"]),
    st.sampled_from(Range),
)
def test_now_lies_in_the_last_bucket_and_every_bucket_has_a_length(
    now: datetime, zone: str, wanted: Range
) -> None:
    shown = span(wanted, now, ZoneInfo(zone))
    assert shown.edges[-2] <= now < shown.end
    assert all(begin < end for begin, end in zip(shown.edges, shown.edges[1:], strict=False))
    assert shown.buckets == {"24h": 24, "7d": 28, "30d": 30, "90d": 90}[wanted]


def test_a_day_is_cut_at_the_full_hours_of_a_zone_that_is_half_an_hour_off() -> None:
    shown = span(Range.DAY, at("2026-11-29T14:05"), KOLKATA)
    assert {edge.astimezone(KOLKATA).minute for edge in shown.edges} == {0}
    assert shown.end == at("2026-11-29T14:30")


def test_a_week_is_cut_at_four_times_of_the_readers_day() -> None:
    shown = span(Range.WEEK, at("2026-11-29T14:05"), WARSAW)
    assert {edge.astimezone(WARSAW).hour for edge in shown.edges} == {0, 6, 12, 18}
    assert shown.end.astimezone(WARSAW).hour == 18


def test_the_day_on_which_the_clocks_go_back_has_25_hours() -> None:
    shown = span(Range.MONTH, at("2026-11-01T12:00"), WARSAW)
    lengths = [end - begin for begin, end in zip(shown.edges, shown.edges[1:], strict=False)]
    assert lengths.count(25 * HOUR) == 1
    assert lengths.count(24 * HOUR) == 29


@pytest.mark.parametrize("text", ["", "1y", "24H", "90d "])
def test_an_address_without_a_range_means_a_day(text: str) -> None:
    assert Range.read(text) is Range.DAY


def test_an_address_names_a_range() -> None:
    assert Range.read("90d") is Range.QUARTER
