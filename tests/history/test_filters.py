"""What an address of the history means."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from approvals.history_filters import ApprovalFilters
from tasks_monitor.history_filters import OperationFilters

NAMES = list(OperationFilters.__dataclass_fields__)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("started_by", "me"),
        ("started_by", "٣"),  # a digit, but not one of ours
        ("server", "x"),
        ("server", "9" * 30),
        ("since", "yesterday"),
        ("until", "9999-12-31"),
        ("longer", "soon"),
        ("longer", "-3"),
        ("sort", "random"),
        ("state", "nonsense"),
        ("outcome", "nonsense"),
        ("text", "!?"),
        ("tool", "a\x00b"),
    ],
)
def test_what_means_nothing_does_not_narrow(name: str, value: str) -> None:
    assert OperationFilters.read({name: value}) == OperationFilters()


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=300)))
def test_an_address_that_was_read_is_read_the_same_again(values: dict[str, str]) -> None:
    filters = OperationFilters.read(values)
    filters.conditions(1)
    assert OperationFilters.read(dict(parse_qsl(filters.query))) == filters


def test_a_day_is_one_of_the_reader_and_until_means_to_its_end() -> None:
    with timezone.override(ZoneInfo("Asia/Tokyo")):
        found = dict(OperationFilters.read({"since": "2026-03-01"}).conditions(1).children)
        upto = dict(OperationFilters.read({"until": "2026-03-01"}).conditions(1).children)
    assert found == {"created_at__gte": datetime(2026, 2, 28, 15, tzinfo=UTC)}
    assert upto == {"created_at__lt": datetime(2026, 3, 1, 15, tzinfo=UTC)}


def test_a_moment_is_the_moment_it_says() -> None:
    filters = OperationFilters.read({"since": "2026-03-01T10:00:00+02:00"})
    (condition,) = filters.conditions(1).children
    assert condition == ("created_at__gte", datetime(2026, 3, 1, 8, tzinfo=UTC))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("90", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("2h", timedelta(hours=2)),
        ("3d", timedelta(days=3)),
    ],
)
def test_durations_are_read_with_their_unit(value: str, expected: timedelta) -> None:
    (condition,) = OperationFilters.read({"longer": value}).conditions(1).children
    assert condition == ("took_ms__gte", expected // timedelta(milliseconds=1))


def test_each_history_knows_the_words_of_its_own_states() -> None:
    assert ApprovalFilters.read({"state": "decided", "decision": "deny", "kind": "gate"}).narrow
    assert not ApprovalFilters.read({"state": "completed", "outcome": "succeeded"}).narrow


def test_the_order_alone_is_not_narrow() -> None:
    filters = OperationFilters.read({"sort": "longest"})
    assert not filters.narrow
    assert filters.query == "sort=longest"


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("shorter=5s", "took_ms"),
        ("longer=1h&state=completed&text=deploy", "took_ms"),
        ("longer=1h&since=2026-11-01", "created_at"),
        ("tool=deploy", "created_at"),
    ],
)
def test_what_a_length_narrows_is_counted_by_length_unless_dates_narrow_it_too(
    query: str, column: str
) -> None:
    assert OperationFilters.read(dict(parse_qsl(query))).counted_along.column == column
