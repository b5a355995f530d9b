"""Pacing: never sooner than asked, spread out, slower while nothing changes, bounded per server."""

import itertools
import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from tasks_monitor.engine import apply_task
from tasks_monitor.engine import drain as drain_module
from tasks_monitor.engine.checknow import check_now
from tasks_monitor.engine.network import Network
from tasks_monitor.models import Operation, Server
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import Desk, ScriptedDesk
from tests.factories import OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db


def gaps(desk: ScriptedDesk, polls: int = 6, **said: Any) -> list[float]:
    """Seconds between the looks at a task that says this at each poll."""
    desk.peer.will(peer.CALL, peer.handle(**said))
    desk.peer.will(peer.GET, peer.task(**said))
    operation = desk.start()
    desk.drain()
    looked: list[datetime] = []
    for _ in range(polls):
        desk.look(operation)
        looked.append(desk.clock.now)
    return [(b - a).total_seconds() for a, b in itertools.pairwise(looked)]


@pytest.mark.parametrize(
    ("asked_ms", "least", "most"),
    [
        (1000, 1.0, 1.1),
        (700.5, 0.7005, 0.78),
        (5000, 5.0, 5.5),
        (1, 0.5, 0.55),
        (1_000_000_000, 600, 600),
    ],
)
def test_a_poll_is_never_sooner_than_asked_within_the_bounds(
    scripted: ScriptedDesk, asked_ms: float, least: float, most: float
) -> None:
    for gap in gaps(scripted, pollIntervalMs=asked_ms):
        assert least <= gap <= most


@pytest.mark.parametrize("asked_ms", [..., None, 0, -5000, "often"])
def test_without_a_usable_interval_the_pauses_grow_from_two_seconds_to_thirty(
    scripted: ScriptedDesk, asked_ms: Any
) -> None:
    grown = gaps(scripted, polls=14, pollIntervalMs=asked_ms)

    assert 2 <= grown[0] <= 4
    assert grown == sorted(grown) or max(grown) <= 33
    assert 30 <= grown[-1] <= 33


def test_a_change_makes_the_pauses_short_again(scripted: ScriptedDesk) -> None:
    same, changed = peer.task(pollIntervalMs=...), peer.task(pollIntervalMs=..., statusMessage="x")
    scripted.peer.will(peer.CALL, peer.handle(pollIntervalMs=...))
    scripted.peer.will(peer.GET, *[same] * 8, changed)
    operation = scripted.start()
    scripted.drain()
    for _ in range(9):
        scripted.look(operation)

    assert operation.due_at is not None
    assert operation.due_at - scripted.clock.now <= timedelta(seconds=2.2)


@pytest.mark.parametrize("attention", [True, False])
def test_polls_of_one_moment_are_spread_out(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch, attention: bool
) -> None:
    """Both ways of applying a poll: the bulk update, and one of its own."""
    rolled = iter([0.0, 1.0] * 4)
    for module in (drain_module, apply_task):
        monkeypatch.setattr(module.random, "random", lambda: next(rolled))
    said = peer.task(pollIntervalMs=10_000)
    scripted.peer.will(peer.GET, said)
    due = {"server": scripted.server, "state": State.WORKING, "due_at": scripted.clock.now}
    for n in range(2):
        OperationFactory(task_id=peer.TASK_ID, attention=attention, polls=n, **due)
    scripted.drain()

    delays = [
        (at - scripted.clock.now).total_seconds()
        for at in Operation.objects.order_by("due_at").values_list("due_at", flat=True)
    ]
    assert delays == [10.0, 11.0]


def test_a_poll_that_changes_nothing_is_one_share_of_one_update_and_no_event(
    scripted: ScriptedDesk, django_assert_num_queries: Any
) -> None:
    scripted.peer.will(peer.CALL, peer.handle(pollIntervalMs=1000))
    scripted.peer.will(peer.GET, peer.task(pollIntervalMs=1000))
    operations = [scripted.start() for _ in range(6)]
    for operation in operations:
        scripted.look(operation)
    scripted.clock.advance(30)
    scripted.drain()
    events = [scripted.events(operation) for operation in operations]
    scripted.clock.advance(3)
    # claim (a savepoint, three statements), the bulk update, and the claim that finds nothing more
    with django_assert_num_queries(9):
        scripted.drain()

    for operation, before in zip(operations, events, strict=True):
        operation.refresh_from_db()
        assert operation.last_polled_at == scripted.clock.now
        assert scripted.events(operation) == before


def test_check_now_never_comes_sooner_than_asked(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle(pollIntervalMs=20_000))
    scripted.peer.will(peer.GET, peer.task(pollIntervalMs=20_000))
    operation = scripted.start()
    scripted.drain()
    polls = len(scripted.peer.asked(peer.GET))
    for _ in range(5):
        scripted.clock.advance(1)
        check_now(operation.pk, actor=scripted.actor, now=scripted.clock.now)
        scripted.drain()

    assert len(scripted.peer.asked(peer.GET)) == polls


def test_the_simulator_sees_no_poll_sooner_than_it_asked(desk: Desk) -> None:
    """In real time: the desk's clock is not what counts for the server."""
    operation = desk.start("run_task", duration_ms=1200, poll_ms=500, nonce="paced")
    while operation.state != State.COMPLETED:
        desk.clock.now = timezone.now()
        desk.drain()
        operation.refresh_from_db()

    polls = [r["at"] for r in desk.simulator.requests()["recent"] if r["method"] == "tasks/get"]
    assert len(polls) >= 2
    assert all(b - a >= 495 for a, b in itertools.pairwise(polls))


@pytest.mark.parametrize(
    ("fault", "least"),
    [
        ("http-429-seconds", 30),
        ("http-503-seconds", 30),
        ("http-429-date", 28),
        ("http-503-date", 28),
    ],
)
def test_retry_after_holds_the_whole_server(desk: Desk, fault: str, least: float) -> None:
    slowed = desk.start("misbehave", fault=fault, seconds=30, times=1, nonce=fault)
    desk.drain()
    other = desk.start("echo", nonce=f"{fault}-other")
    desk.drain()
    desk.clock.advance(least - 1)
    desk.drain()
    other.refresh_from_db()
    assert other.state == State.READY, "the server asked to be left alone"
    desk.server.refresh_from_db()
    assert desk.server.not_before_reason == "throttled"

    desk.settle(slowed)
    desk.settle(other)

    assert (slowed.state, other.state) == (State.COMPLETED, State.COMPLETED)
    assert desk.simulator.done(fault) == 1


def test_a_server_that_slows_down_holds_no_other_server(scripted: ScriptedDesk) -> None:
    later = scripted.clock.now + timedelta(hours=1)
    Server.objects.filter(pk=scripted.server.pk).update(not_before=later)
    scripted.server = ServerFactory(team=scripted.server.team)
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.start()
    scripted.drain()

    operation.refresh_from_db()
    assert operation.state == State.COMPLETED


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("tool", "takes"),
    [
        ("slow_call", {"duration_ms": 60}),
        ("misbehave_task", {"fault": "json-slow", "duration_ms": 900, "poll_ms": 500}),
    ],
)
def test_two_workers_keep_at_most_so_many_requests_in_flight(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tool: str, takes: dict[str, Any]
) -> None:
    desk.server.max_in_flight = 3
    desk.server.save()
    operations = [desk.start(tool, nonce=f"many-{n}", **takes) for n in range(18)]
    # two processes in one: each drain has a lock of its own
    monkeypatch.setattr(drain_module, "_draining", _NoLock())

    def work() -> None:
        network = Network()
        try:
            while Operation.objects.filter(finished_at=None).exists():
                drain_module.drain(network, timezone.now)
        finally:
            network.close()
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    assert desk.simulator.requests()["max_in_flight"] == 3
    assert all(desk.simulator.done(f"many-{n}") == 1 for n in range(len(operations)))


class _NoLock:
    def acquire(self, blocking: bool) -> bool:
        return True

    def release(self) -> None:
        pass
