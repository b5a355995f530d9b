"""Watch: work that nobody has seen for a minute alerts the admins, once, until it is over."""

import threading
from datetime import datetime, timedelta
from unittest import mock

import pytest
import time_machine
from django.db import OperationalError

from mcpdesk.accounts.models import Role, Team
from mcpdesk.audit.models import Event
from mcpdesk.notify.models import Alert, Message
from tasks_monitor import tasks, watchdog
from tasks_monitor.engine.heartbeat import EXPECTED, beat
from tasks_monitor.engine.watch import Watch
from tasks_monitor.management.commands.clock import Clock
from tests.factories import NOW, MembershipFactory, TeamFactory

pytestmark = pytest.mark.django_db


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def seen(seconds: float, *but: str) -> None:
    """Everything was at work at this time, except for these."""
    for process in EXPECTED.keys() - set(but):
        beat(process, at(seconds))


@pytest.fixture
def team() -> Team:
    team: Team = TeamFactory()
    MembershipFactory(team=team, role=Role.ADMIN)
    return team


def open_alerts() -> list[tuple[str, str]]:
    found = Alert.objects.filter(closed_at__isnull=True)
    return list(found.values_list("matter", "sentence").order_by("matter"))


def test_a_clock_that_is_gone_is_an_alert_to_every_team(team: Team) -> None:
    TeamFactory()
    seen(0)
    watch = Watch()
    for seconds in (61, 81, 101, 121):
        seen(seconds, "clock")
        watch.look(at(seconds))
    sentence = "The clock process was not seen for a minute: nothing that is late is looked for."
    assert open_alerts() == [("silence:clock", sentence)] * 2
    assert Event.objects.filter(kind="alert.raised").count() == 2
    assert Message.objects.filter(event="alert.opened").exists()


def test_one_look_at_something_silent_is_not_enough(team: Team) -> None:
    """After a machine slept, everything is silent for a moment."""
    seen(0)
    watch = Watch()
    watch.look(at(3600))
    seen(3601)
    watch.look(at(3620))
    seen(3620)
    watch.look(at(3640))
    assert open_alerts() == []


def test_the_alert_is_over_when_it_runs_again(team: Team) -> None:
    watch = Watch()
    seen(0, "worker")
    watch.look(at(0))
    watch.look(at(20))
    assert [matter for matter, _ in open_alerts()] == ["silence:worker"]

    seen(21)
    Watch().look(at(40))

    assert open_alerts() == []
    assert Event.objects.filter(kind="alert.closed").count() == 1


def test_a_second_watcher_alerts_nobody_again(team: Team) -> None:
    seen(0, "clock")
    for watch in (Watch(), Watch()):
        watch.look(at(0))
        watch.look(at(20))
    assert Alert.objects.count() == 1


def test_the_clock_watches_the_workers(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks_monitor.engine.doorbell.ring_task", lambda *_: None)
    clock = Clock()
    for seconds in (0, 20, 40):
        clock.tick(at(seconds), float(seconds))
    assert [matter for matter, _ in open_alerts()] == ["silence:inbox", "silence:worker"]


def test_a_worker_that_is_ready_watches_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Event] = []
    monkeypatch.setattr(watchdog, "start", started.append)
    tasks.watch_the_clock()
    assert started == [tasks.stopping]


@pytest.mark.parametrize(("seconds", "rung"), [(0, False), (19, False), (21, True)])
def test_a_worker_that_no_clock_rings_rings_by_itself_and_is_not_taken_for_gone(
    monkeypatch: pytest.MonkeyPatch, seconds: float, rung: bool
) -> None:
    seen(0)
    stop = mock.Mock(spec=threading.Event)
    stop.wait.side_effect = [False, True]
    ring, ring_task = mock.Mock(), mock.Mock()
    monkeypatch.setattr(watchdog, "ring", ring)
    monkeypatch.setattr(watchdog, "ring_task", ring_task)
    monkeypatch.setattr(watchdog, "close_old_connections", lambda: None)
    monkeypatch.setattr(watchdog, "connection", mock.Mock())
    with time_machine.travel(at(seconds), tick=False):
        watchdog.watch(stop)
    assert ring.called is rung
    assert ring_task.call_args_list == ([mock.call("approvals.tasks.sweep")] if rung else [])


def test_the_watchdog_goes_on_when_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = mock.Mock(spec=threading.Event)
    stop.wait.side_effect = [False, False, False, True]
    look = mock.Mock(side_effect=[OperationalError("away"), RuntimeError("?"), None])
    monkeypatch.setattr(Watch, "look", look)
    monkeypatch.setattr(watchdog, "close_old_connections", lambda: None)
    monkeypatch.setattr(watchdog, "connection", mock.Mock())
    watchdog.watch(stop)
    assert look.call_count == 3
