"""Drain: claim, exchange, apply; one bad row or a lost database never stops the rest."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from unittest import mock

import pytest
from django.db import InterfaceError, OperationalError, connection

from tasks_monitor import tasks
from tasks_monitor.engine import drain as module
from tasks_monitor.engine import settle_call
from tasks_monitor.engine.drain import drain
from tasks_monitor.models import Operation, Payload, Server
from tasks_monitor.states import State
from tests import databases
from tests.engine import peer
from tests.engine.desk import LEASE_S, Desk, ScriptedDesk, spoil
from tests.factories import OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db


def test_everything_that_is_due_is_worked_on_in_one_drain(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    operations = [scripted.start() for _ in range(20)]
    scripted.drain()

    states = Operation.objects.filter(pk__in=[o.pk for o in operations]).values_list("state")
    assert set(states) == {(State.COMPLETED,)}


def test_a_second_drain_of_the_process_only_nudges_the_first(scripted: ScriptedDesk) -> None:
    with module._draining:
        assert drain(scripted.network, scripted.clock) is False  # type: ignore[arg-type]
    assert drain(scripted.network, scripted.clock) is True  # type: ignore[arg-type]


def test_a_ring_between_the_last_claim_of_a_drain_and_its_end_is_heard(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    original, late = module._drain, []

    def then_somebody_rings(*args: Any) -> None:
        original(*args)
        if not late:
            late.append(scripted.start())
            assert drain(scripted.network, scripted.clock) is False  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_drain", then_somebody_rings)
    monkeypatch.setattr(tasks, "network", lambda: scripted.network)
    monkeypatch.setattr(tasks.timezone, "now", scripted.clock)
    tasks.look(None)

    late[0].refresh_from_db()
    assert late[0].state == State.COMPLETED
    assert not module.rung()


def test_a_process_that_ends_does_not_look_again_for_a_ring(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = scripted.start()
    monkeypatch.setattr(tasks, "network", lambda: scripted.network)
    module.stopping.set()
    try:
        tasks.look(None)
    finally:
        module.stopping.clear()

    operation.refresh_from_db()
    assert operation.state == State.READY


def test_a_process_that_ends_begins_nothing_new(scripted: ScriptedDesk) -> None:
    operation = scripted.start()
    module.stopping.set()
    try:
        scripted.drain()
    finally:
        module.stopping.clear()

    operation.refresh_from_db()
    assert operation.state == State.READY


def test_a_slow_call_keeps_nothing_else_waiting(desk: Desk) -> None:
    """The budget ends with the call on its way: the next drain claims, and takes its answer in."""
    slow = desk.start("slow_call", duration_ms=1500, nonce="slow")
    moments = iter([desk.clock.now] * 2)
    later = desk.clock.now + timedelta(hours=1)
    assert drain(desk.network, lambda: next(moments, later), budget_s=60)
    assert desk.network.in_flight == 1

    quick = desk.start("echo", nonce="quick")
    finished = threading.Event()

    def moment() -> Any:
        quick.refresh_from_db()
        if quick.state == State.COMPLETED:
            slow.refresh_from_db()
            finished.set() if slow.state == State.CALLING else None
        return desk.clock.now

    drain(desk.network, moment)

    slow.refresh_from_db()
    assert finished.is_set(), "the quick one was done while the slow one was on its way"
    assert (slow.state, desk.simulator.done("slow")) == (State.COMPLETED, 1)


def test_arguments_that_no_key_opens_stop_nobody_else(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    poisoned, good = scripted.start(), scripted.start()
    spoil("payload", "arguments", poisoned.pk)
    Operation.objects.filter(pk=poisoned.pk).update(due_at=scripted.clock.now - timedelta(hours=1))
    scripted.drain()

    good.refresh_from_db()
    poisoned.refresh_from_db()
    assert (good.state, poisoned.state) == (State.COMPLETED, State.READY)
    assert len(scripted.peer.asked(peer.CALL)) == 1


def test_a_credential_that_no_key_opens_stops_only_its_server(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    other = ServerFactory(team=scripted.server.team)
    waiting = OperationFactory(server=other, state=State.READY, due_at=scripted.clock.now)
    good = scripted.start()
    spoil("server", "credential", other.pk)
    scripted.drain()

    good.refresh_from_db()
    assert good.state == State.COMPLETED
    states = Operation.objects.defer("task_id").filter(pk=waiting.pk).values_list("state")
    assert list(states) == [(State.READY,)], "nothing was written of what could not be addressed"


def test_a_task_id_that_no_key_opens_stops_nobody_else(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.GET, peer.completed())
    due = {"state": State.WORKING, "due_at": scripted.clock.now, "server": scripted.server}
    poisoned = OperationFactory(task_id="other", attention=True, **due)
    good = OperationFactory(task_id=peer.TASK_ID, **due)
    spoil("operation", "task_id", poisoned.pk)
    with mock.patch.object(scripted.peer, "_answer", wraps=scripted.peer._answer) as answer:
        answer.side_effect = lambda work: _or_nothing(scripted, work)
        scripted.drain()

    good.refresh_from_db()
    assert good.state == State.COMPLETED


def _or_nothing(desk: ScriptedDesk, work: Any) -> Any:
    """As the network does: a request that cannot be built is one without an answer."""
    try:
        return peer.step(work, peer.completed())
    except Exception:
        return peer.step(work, peer.Nothing())


def test_a_result_that_cannot_be_applied_stops_nobody_else(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    first, second = scripted.start(), scripted.start()
    keep = settle_call.keep_result

    def broken(operation: Operation, *args: Any) -> None:
        if operation.pk == first.pk:
            raise ValueError("a fault of ours")
        keep(operation, *args)

    monkeypatch.setattr(settle_call, "keep_result", broken)
    scripted.drain()

    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == (State.CALLING, State.COMPLETED)
    scripted.clock.advance(LEASE_S)
    scripted.sweep()
    first.refresh_from_db()
    assert first.state == State.UNKNOWN


def test_a_handle_is_kept_where_the_rest_of_the_answer_cannot_be(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    scripted.peer.will(peer.GET, peer.completed())
    monkeypatch.setattr(settle_call, "apply_task", mock.Mock(side_effect=ValueError("ours")))
    operation = scripted.start()
    scripted.drain()

    operation.refresh_from_db()
    assert operation.task_id == peer.TASK_ID
    assert scripted.settle(operation).state == State.COMPLETED


def test_health_that_cannot_be_noted_stops_nobody(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "note_exchanges", mock.Mock(side_effect=ValueError("ours")))
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.start()
    scripted.drain()

    operation.refresh_from_db()
    assert operation.state == State.COMPLETED


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    yield


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_what_a_server_said_waits_for_a_database_that_is_away(
    scripted: ScriptedDesk,
    monkeypatch: pytest.MonkeyPatch,
    no_pauses: None,
    error: type[Exception],
) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    operation = scripted.begin(scripted.start())
    apply, away = module._apply, iter(range(3))

    def sometimes(*args: Any) -> None:
        if next(away, None) is not None:
            raise error("the connection is gone")
        apply(*args)

    monkeypatch.setattr(module, "_apply", sometimes)
    scripted.arrive()

    operation.refresh_from_db()
    assert (operation.state, operation.task_id) == (State.WORKING, peer.TASK_ID)


@pytest.mark.django_db(transaction=True)
def test_a_result_bears_the_time_at_which_its_turn_comes(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charts and tallies count what ended once it is settled: nothing may be written as older."""
    scripted.peer.will(peer.CALL, peer.finished())
    operations = [scripted.start() for _ in range(8)]
    began = scripted.clock.now
    apply, away = module._apply, iter(range(len(module.PAUSES_S) + 1))

    def not_the_first(*args: Any) -> None:
        if next(away, None) is not None:
            raise OperationalError("the connection is gone")
        apply(*args)

    monkeypatch.setattr(module, "_apply", not_the_first)
    monkeypatch.setattr(module.time, "sleep", scripted.clock.advance)
    scripted.drain()

    ended = Operation.objects.filter(pk__in=[one.pk for one in operations], state=State.COMPLETED)
    away_for = timedelta(seconds=sum(module.PAUSES_S))
    assert {one.finished_at - began for one in ended if one.finished_at} == {away_for}
    assert ended.count() == 7


@pytest.fixture
def end_sessions() -> Iterator[Callable[[], None]]:
    """Ends every session, some of which wait in the pool; the next test finds none that is dead."""
    yield partial(databases.end_sessions, idle=8)
    databases.begin_anew()


@pytest.mark.django_db(transaction=True)
def test_a_connection_lost_while_a_call_is_on_its_way_loses_nothing(
    desk: Desk, end_sessions: Callable[[], None]
) -> None:
    operation = desk.start("slow_call", duration_ms=700, nonce="lost-connection")
    failures: list[Exception] = []

    def work() -> None:
        try:
            desk.drain()
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    while not Operation.objects.filter(pk=operation.pk, state=State.CALLING).exists():
        pass
    while desk.requests() == 0:
        pass
    end_sessions()
    worker.join(20)

    operation.refresh_from_db()
    assert (operation.state, desk.simulator.done("lost-connection")) == (State.COMPLETED, 1)
    assert Payload.objects.get(pk=operation.pk).result is not None
    assert failures == []


@pytest.mark.django_db(transaction=True)
def test_a_connection_lost_between_two_drains_is_made_again(
    scripted: ScriptedDesk, end_sessions: Callable[[], None]
) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.start()

    def work() -> None:
        Server.objects.count()
        ready.set()
        gone.wait(10)
        scripted.drain()
        scripted.drain()
        connection.close()

    ready, gone = threading.Event(), threading.Event()
    worker = threading.Thread(target=work)
    worker.start()
    ready.wait(10)
    end_sessions()
    gone.set()
    worker.join(20)

    operation.refresh_from_db()
    assert operation.state == State.COMPLETED
