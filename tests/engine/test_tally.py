"""Tallies: everything that ended is counted once, however often and by whomever it is counted."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from tasks_monitor.engine import tally
from tasks_monitor.models import Expectation, HistoryEntry, Server, Tally, TallyMark
from tasks_monitor.states import State
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import NOW, OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db


def ended(server: Server, at: datetime, server_ms: int = 1000, **values: Any) -> None:
    """A call that ended at this time."""
    operation = OperationFactory(server=server, tool_name="echo", state=State.COMPLETED)
    HistoryEntry.objects.filter(pk=operation.pk).update(
        finished_at=at, took_ms=1, server_ms=server_ms, **values
    )


def counted() -> int:
    """The tallies, and what ended since."""
    before = Tally.objects.aggregate(count=Sum("count"))["count"] or 0
    return before + sum(one.count for one in tally.since(TallyMark.objects.get().up_to))


def test_what_ended_long_enough_ago_is_in_the_tallies_and_the_rest_is_counted_apart() -> None:
    server = ServerFactory()
    ended(server, NOW - timedelta(minutes=6))
    ended(server, NOW - timedelta(minutes=4))
    tally.count(NOW)
    assert Tally.objects.get().count == 1
    assert [one.count for one in tally.since(TallyMark.objects.get().up_to)] == [1]


def test_tallies_grow_by_element() -> None:
    server = ServerFactory()
    ended(server, NOW, 800, people_ms=10_000)
    tally.count(NOW + timedelta(hours=1))
    ended(server, NOW + timedelta(hours=2), 6_000)
    ended(server, NOW + timedelta(hours=2), 10**9)
    tally.count(NOW + timedelta(hours=3))
    found = Tally.objects.get()
    assert (found.count, found.server_ms) == (3, 800 + 6_000 + 10**9)
    assert found.server_buckets == [1, 1, 2, 2, 2, 2, 2, 2]
    assert found.people_buckets == [2, 2, 3, 3, 3, 3, 3, 3]


def test_each_ending_of_each_server_is_apart() -> None:
    server, other = ServerFactory(), ServerFactory()
    ended(server, NOW)
    ended(server, NOW, is_error=True)
    ended(server, NOW, state=State.FAILED)
    ended(other, NOW)
    tally.count(NOW + timedelta(hours=1))
    found = Tally.objects.values_list("server_id", "state", "is_error", "count")
    assert set(found) == {
        (server.pk, "completed", False, 1),
        (server.pk, "completed", True, 1),
        (server.pk, "failed", False, 1),
        (other.pk, "completed", False, 1),
    }


def test_a_clock_that_is_behind_counts_nothing_back() -> None:
    ended(ServerFactory(), NOW)
    tally.count(NOW + timedelta(hours=1))
    tally.count(NOW)
    assert (Tally.objects.get().count, counted()) == (1, 1)


def test_what_was_counted_is_learned_from() -> None:
    server = ServerFactory()
    for _ in range(25):
        ended(server, NOW)
    tally.count(NOW + timedelta(hours=1))
    assert Expectation.objects.get().samples == 25
    with CaptureQueriesContext(connection) as asked:
        tally.count(NOW + timedelta(hours=2))
    assert not any("percentile" in query["sql"] for query in asked), "nothing new, nothing learned"


def counted_by_two() -> int:
    ended(ServerFactory(), NOW)
    TallyMark.objects.create(up_to=NOW - timedelta(hours=1))
    at = NOW + timedelta(hours=1)
    with meeting_after("tasks_monitor.engine.tally._between"):
        side_by_side(*[lambda: tally.count(at)] * 2)
    return Tally.objects.get().count


@pytest.mark.django_db(transaction=True)
def test_two_clocks_at_once_count_nothing_twice() -> None:
    assert counted_by_two() == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_two_clocks_would_count_twice() -> None:
    with locks_off():
        assert counted_by_two() == 2


class AnyOrder(TestCase):
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        ends=st.lists(st.integers(0, 3600), max_size=8),
        counts=st.lists(st.integers(0, 7200), max_size=6),
    )
    def test_nothing_is_missed_or_counted_twice(self, ends: list[int], counts: list[int]) -> None:
        server = ServerFactory()
        for second in ends:
            ended(server, NOW + timedelta(seconds=second))
        for second in [0, *counts]:
            tally.count(NOW + timedelta(seconds=second))
        assert counted() == len(ends)
