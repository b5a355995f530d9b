"""The clock rings for messages that are due, and only then."""

import io
import threading
from datetime import timedelta
from unittest import mock

import pytest
import time_machine
from django.db import InterfaceError

from approvals.models import Approval
from mcpdesk.accounts.models import Team
from mcpdesk.notify.doorbell import DELIVER
from tasks_monitor import watchdog
from tasks_monitor.engine.heartbeat import beat
from tasks_monitor.management.commands import clock
from tests.factories import NOW
from tests.notify.conftest import put, webhook

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("after_s", "rings"), [(14, 0), (15, 1)])
def test_the_clock_rings_once_a_message_is_due(
    approval: Approval, team: Team, monkeypatch: pytest.MonkeyPatch, after_s: int, rings: int
) -> None:
    rung: list[str] = []
    monkeypatch.setattr(clock, "ring_task", lambda name, *_: rung.append(name))
    monkeypatch.setattr(clock, "ring", lambda *_: None)
    webhook(team)
    put(approval)
    clock.Clock().tick(NOW + timedelta(seconds=after_s), 100.0)
    assert rung.count(DELIVER) == rings


def told_by(
    monkeypatch: pytest.MonkeyPatch, worker_at: float, ticks: tuple[float, ...]
) -> tuple[list[str], list[str]]:
    """Which tasks the clock rang for, and what it sent itself, where a worker was last seen then.

    `worker_at` and `ticks` in s from NOW.
    """
    rung: list[str] = []
    sent: list[str] = []
    monkeypatch.setattr(clock, "ring_task", lambda name, *_: rung.append(name))
    monkeypatch.setattr(clock, "ring", lambda *_: None)
    monkeypatch.setattr(clock, "_deliver", lambda: sent.append("here"))
    beat("worker", NOW + timedelta(seconds=worker_at))
    process = clock.Clock()
    for second in ticks:
        process.tick(NOW + timedelta(seconds=second), second)
        if process._telling is not None:
            process._telling.join()
    return rung, sent


def test_without_a_worker_the_clock_sends_what_is_due_by_itself(
    approval: Approval, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(team)
    put(approval)
    rung, sent = told_by(monkeypatch, -600, (15, 40))
    assert rung.count(DELIVER) == 1, "one look at something silent is not enough"
    assert sent == ["here"]


def test_with_a_worker_at_work_the_clock_sends_nothing(
    approval: Approval, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(team)
    put(approval)
    _, sent = told_by(monkeypatch, 20, (15, 40))
    assert sent == []


@pytest.mark.parametrize(("clock_at", "sent"), [(-600, 1), (0, 0)])
def test_without_a_clock_a_worker_sends_what_is_due_by_itself(
    approval: Approval, team: Team, monkeypatch: pytest.MonkeyPatch, clock_at: int, sent: int
) -> None:
    webhook(team)
    put(approval)
    beat("clock", NOW + timedelta(seconds=clock_at))
    delivered: list[object] = []
    stop = mock.Mock(spec=threading.Event)
    stop.wait.side_effect = [False, False, True]
    monkeypatch.setattr(watchdog, "deliver", delivered.append)
    monkeypatch.setattr(watchdog, "close_old_connections", lambda: None)
    monkeypatch.setattr(watchdog, "connection", mock.Mock())
    with time_machine.travel(NOW + timedelta(seconds=30), tick=False):
        watchdog.watch(stop)
    assert len(delivered) == sent


@pytest.mark.parametrize("fault", [InterfaceError("the connection is closed"), KeyError("odd")])
def test_a_look_that_fails_does_not_end_the_clock(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr(clock, "close_old_connections", lambda: None)
    looks = mock.Mock(spec=clock.Clock)
    looks.tick.side_effect = [fault, None]
    command = clock.Command(stderr=io.StringIO())
    command._tick(looks)
    command._tick(looks)
    assert looks.tick.call_count == 2


def test_messages_that_cannot_be_cleared_away_keep_no_worker_from_being_rung(
    approval: Approval, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[object] = []
    monkeypatch.setattr(clock, "ring", lambda: rung.append("worker"))
    monkeypatch.setattr(clock, "ring_task", lambda *_: None)
    monkeypatch.setattr(clock.retention, "clear", mock.Mock(side_effect=KeyError("odd")))
    process = clock.Clock()
    with pytest.raises(KeyError):
        process.tick(NOW, 0.0)
    process.tick(NOW, 0.25)
    assert rung == ["worker"]
