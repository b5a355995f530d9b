"""Heartbeats: what ought to run and was not seen is said, at a check and on every page."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from mcpdesk.checks import processes
from tasks_monitor.engine.heartbeat import Silence, beat, last_beat, silences
from tests.factories import NOW, MembershipFactory

pytestmark = pytest.mark.django_db


def test_what_was_never_seen_is_silent() -> None:
    assert silences(NOW) == [Silence(one, None) for one in ("clock", "worker", "inbox")]


def test_what_was_seen_within_a_minute_is_not_silent() -> None:
    beat("clock", NOW - timedelta(seconds=59))
    beat("worker", NOW)
    beat("inbox", NOW)
    assert silences(NOW) == []


def test_what_was_not_seen_for_a_minute_is_silent_since_then() -> None:
    last = NOW - timedelta(seconds=61)
    beat("clock", last)
    beat("worker", NOW)
    beat("inbox", NOW)
    assert silences(NOW) == [Silence("clock", last)]


def test_a_check_of_the_database_names_what_is_missing() -> None:
    beat("worker", timezone.now())
    (finding,) = processes(databases=["default"])
    assert (finding.id, "clock" in finding.msg) == ("mcpdesk.W010", True)


def test_a_start_without_the_database_asks_nothing_of_it() -> None:
    assert processes(databases=None) == []


@pytest.mark.parametrize("seen", [True, False])
def test_a_page_says_when_nothing_moves(client: Client, seen: bool) -> None:
    if seen:
        beat("clock", timezone.now())
        beat("worker", timezone.now())
    client.force_login(MembershipFactory().user)
    page = client.get("/operations/").content.decode()
    assert ("The worker process was never seen" in page) is not seen


def test_a_beat_is_one_statement_that_cannot_collide(django_assert_num_queries: Any) -> None:
    for now in (NOW, NOW + timedelta(seconds=1)):
        with django_assert_num_queries(1) as asked:
            beat("clock", now)
        assert "ON CONFLICT" in asked[0]["sql"]
    assert last_beat("clock") == NOW + timedelta(seconds=1)
