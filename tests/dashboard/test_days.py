"""Days that are over are counted once, and what is kept of them is exactly what was counted."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.web import days, tasks
from mcpdesk.web.days import Figures, figures
from tasks_monitor.charts import Narrow, Outcome
from tasks_monitor.management.commands import clock
from tasks_monitor.models import ChartDay, HistoryEntry, Server
from tasks_monitor.spans import Range, Span, span
from tasks_monitor.states import State
from tests.dashboard.test_charts import broken, decided, ended
from tests.factories import NOW, MembershipFactory, ServerFactory

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
ANY = Narrow()


@pytest.fixture
def server() -> Server:
    return ServerFactory()


@pytest.fixture
def member(server: Server) -> Member:
    one = MembershipFactory(team=server.team, role=Role.VIEWER)
    return Member(one.user, one.team, Role.VIEWER)


def month(now: datetime = NOW) -> Span:
    return span(Range.MONTH, now, UTC)


def seen(member: Member, narrow: Narrow = ANY, now: datetime = NOW) -> Figures:
    return figures(member, month(now), narrow)


@pytest.fixture
def past(server: Server) -> None:
    """Some of everything, days ago and today; a day with nothing at all between them."""
    for back in (0, 1, 3, 20):
        at = NOW - back * DAY
        for ms in (100, 250, 700 + back):
            ended(server, State.COMPLETED, at, server_ms=ms)
        ended(server, State.FAILED, at)
        ended(server, State.COMPLETED, at, is_error=True)
        broken(server, State.LOST, at)
    decided(server, 3)
    decided(server, 7)


@pytest.mark.usefixtures("past")
@pytest.mark.parametrize("wanted", list(Range))
def test_what_is_kept_is_what_was_counted(member: Member, wanted: Range) -> None:
    later = NOW + timedelta(hours=11)  # what was decided is of a day that is over
    shown = span(wanted, later, UTC)
    counted = figures(member, shown, ANY)
    days.keep(later)
    assert figures(member, shown, ANY) == counted
    assert counted.outcomes.totals.total() and counted.server.paces and counted.people.paces


@pytest.mark.usefixtures("past")
def test_a_day_that_is_kept_is_not_counted_again(member: Member, server: Server) -> None:
    before = seen(member)
    days.keep(NOW)
    ended(server, State.COMPLETED, NOW - DAY)  # which cannot be: it is over
    ended(server, State.COMPLETED, NOW)
    for _ in range(2):
        after = seen(member)
        assert after.outcomes.counts[28] == before.outcomes.counts[28]
        assert after.outcomes.counts[29][Outcome.COMPLETED] == 4
        days.keep(NOW)


def test_a_day_is_kept_once_all_that_ended_in_it_is_written(member: Member) -> None:
    midnight = NOW.replace(hour=0, minute=0)
    for minutes, yesterday in ((4, False), (5, True)):
        days.keep(midnight + timedelta(minutes=minutes))
        assert ChartDay.objects.filter(ends=midnight).exists() is yesterday
        assert not ChartDay.objects.filter(ends__gt=midnight).exists()


def test_what_was_mended_is_no_longer_broken_on_the_day_it_broke(
    member: Member, server: Server
) -> None:
    broken(server, State.LOST, NOW - DAY)
    days.keep(NOW)
    assert seen(member).outcomes.counts == {28: {Outcome.BROKEN: 1}}
    HistoryEntry.objects.update(state=State.FAILED, state_since=NOW, finished_at=NOW, took_ms=1)
    assert seen(member).outcomes.counts == {29: {Outcome.FAILED: 1}}


@pytest.mark.usefixtures("past")
def test_nothing_narrowed_is_read_from_what_is_kept(member: Member, server: Server) -> None:
    other = ServerFactory(team=server.team)
    days.keep(NOW)
    assert seen(member, Narrow(other.pk)).outcomes.counts == {}
    assert seen(member, Narrow(server.pk)) == seen(member)


@pytest.mark.usefixtures("past")
def test_a_team_sees_its_own_days_alone(member: Member) -> None:
    stranger = MembershipFactory(role=Role.ADMIN)
    days.keep(NOW)
    found = seen(Member(stranger.user, stranger.team, Role.ADMIN))
    assert (found.outcomes.counts, found.people.paces, found.server.paces) == ({}, {}, {})
    assert ChartDay.objects.filter(team=stranger.team).count() == 89
    assert ChartDay.objects.filter(team=member.team).count() == 89


@pytest.mark.usefixtures("past")
def test_each_zone_of_the_teams_people_has_days_of_its_own(member: Member) -> None:
    MembershipFactory(team=member.team, user__time_zone="Asia/Kolkata")
    MembershipFactory(team=member.team, user__time_zone="Mars/Olympus")
    MembershipFactory(team=member.team, user__time_zone="Asia/Tokyo", user__is_active=False)
    shown = span(Range.MONTH, NOW, ZoneInfo("Asia/Kolkata"))
    counted = figures(member, shown, ANY)
    days.keep(NOW)
    assert figures(member, shown, ANY) == counted
    assert ChartDay.objects.filter(begins__in=shown.edges).count() == 29
    assert ChartDay.objects.count() == 2 * 89


@pytest.mark.usefixtures("past")
def test_two_workers_at_once_keep_a_day_once(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    days.keep(NOW)
    monkeypatch.setattr(days, "_kept", lambda *_: {})  # as it was when the other began
    days.keep(NOW)
    assert ChartDay.objects.count() == 89


def test_days_that_no_range_reaches_any_more_go(member: Member) -> None:
    days.keep(NOW)
    days.keep(NOW + 60 * DAY)
    assert ChartDay.objects.earliest("begins").begins > NOW - 41 * DAY


@pytest.mark.usefixtures("past")
def test_once_they_are_kept_no_day_before_today_is_counted(
    member: Member, django_assert_num_queries: Any
) -> None:
    days.keep(NOW)
    with django_assert_num_queries(
        4
    ) as asked:  # what is kept, what ended, what was decided, what is broken
        seen(member)
    yesterday = f"{NOW - DAY:%Y-%m-%d}"
    counting = [one["sql"] for one in asked.captured_queries if "server_ms" in one["sql"]]
    assert len(counting) == 1 and yesterday not in counting[0]
    with django_assert_num_queries(3):  # the teams with their zones, what is kept, what is old
        days.keep(NOW)


def test_the_clock_has_a_worker_keep_them(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    monkeypatch.setattr(clock, "ring_task", lambda name, *_: rung.append(name))
    monkeypatch.setattr(clock, "ring", lambda *_: None)
    process = clock.Clock()
    for second in (0, 300, 601):
        process.tick(NOW + timedelta(seconds=second), float(second))
    assert rung.count(tasks.keep_days.name) == 2
    with time_machine.travel(NOW, tick=False):
        tasks.keep_days()
    assert ChartDay.objects.count() == 89
