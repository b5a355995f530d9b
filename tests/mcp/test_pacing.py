"""When to ask again."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.mcp.pacing import (
    clock_skew_ms,
    expires_at,
    http_date,
    next_poll_delay_ms,
    retry_after,
    state_only_delay_ms,
)
from mcpdesk.mcp.tasks import Ttl

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@given(
    st.none() | st.integers(),
    st.integers(min_value=0, max_value=10**9),
    st.floats(min_value=0, max_value=1),
)
def test_a_poll_is_never_sooner_than_asked_and_always_within_bounds(
    asked: int | None, unchanged: int, jitter: float
) -> None:
    delay = next_poll_delay_ms(asked, unchanged, jitter)
    assert 500 <= delay <= 600_000
    assert delay >= min(asked or 0, 600_000)


@pytest.mark.parametrize("asked", [None, 0, -1])
def test_without_a_usable_interval_polls_grow_from_two_to_thirty_seconds(
    asked: int | None,
) -> None:
    delays = [next_poll_delay_ms(asked, unchanged) for unchanged in range(12)]
    assert delays[0] == 2_000
    assert delays == sorted(delays)
    assert delays[-1] == 30_000


def test_an_interval_the_server_asked_for_does_not_grow() -> None:
    assert next_poll_delay_ms(5_000, 1_000) == 5_000


@pytest.mark.parametrize(("asked", "delay"), [(1, 500), (10**9, 600_000)])
def test_an_interval_is_held_between_half_a_second_and_ten_minutes(asked: int, delay: int) -> None:
    assert next_poll_delay_ms(asked, 0) == delay


def test_jitter_only_lengthens_a_wait() -> None:
    assert next_poll_delay_ms(5_000, 0, jitter=1.0) == 5_500
    assert state_only_delay_ms(1, jitter=1.0) == 275


def test_rounds_with_only_a_state_double_from_a_quarter_to_thirty_seconds() -> None:
    delays = [state_only_delay_ms(round) for round in range(1, 10)]
    assert delays == [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
    assert state_only_delay_ms(10**6) == 30_000


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Sun, 29 Nov 2026 12:01:30 GMT", 90.0),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 0.0),
        ("9" * 400, 7 * 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 7 * 86_400.0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("Fri, 99 Foo 2026 99:99:99 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(
    value: str | None, seconds: float | None
) -> None:
    assert retry_after(value, NOW) == seconds


@given(st.text())
def test_any_retry_after_and_any_date_is_read_or_ignored(value: str) -> None:
    seconds = retry_after(value, NOW)
    assert seconds is None or 0 <= seconds <= 7 * 86_400
    moment = http_date(value)
    assert moment is None or moment.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("ms", "expiry"),
    [
        (60_000, NOW + timedelta(minutes=1)),
        (0, NOW),
        (None, None),
        (10**30, None),
        (-(10**30), NOW),
    ],
)
def test_expiry_counts_from_the_creation_of_the_task(
    ms: int | None, expiry: datetime | None
) -> None:
    assert expires_at(NOW, Ttl(ms)) == expiry


def test_skew_compares_instants_whatever_the_offset() -> None:
    there = datetime(2026, 11, 29, 14, 1, tzinfo=timezone(timedelta(hours=2)))
    assert clock_skew_ms(there, NOW) == 60_000
