"""Sending again, past the gate: what comes meanwhile, and what becomes of the call."""

from datetime import timedelta

import pytest

from mcpdesk.audit.log import DESK
from tasks_monitor.engine import gate
from tasks_monitor.engine.checknow import check_now
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.reconcile import Choice, reconcile
from tasks_monitor.models import Operation
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import LEASE_S, ScriptedDesk
from tests.factories import OperationFactory

pytestmark = pytest.mark.django_db


def ask_first(desk: ScriptedDesk, operation: Operation) -> Operation:
    reconcile(
        operation.pk,
        choice=Choice.SEND_AGAIN,
        reason="it cannot have arrived",
        actor=desk.actor,
        now=desk.clock.now,
        asks_first=True,
    )
    operation.refresh_from_db()
    assert operation.state == State.AWAITING_APPROVAL
    return operation


def stuck_at_the_gate(desk: ScriptedDesk) -> Operation:
    """A call whose worker died, which somebody would send again; its answer is still on its way."""
    desk.peer.will(peer.CALL, peer.finished())
    operation = desk.begin(desk.start())
    desk.clock.advance(LEASE_S + 1)
    desk.sweep()
    operation.refresh_from_db()
    assert operation.state == State.UNKNOWN
    return ask_first(desk, operation)


def test_an_answer_that_comes_meanwhile_counts_and_nothing_is_sent_again(
    scripted: ScriptedDesk,
) -> None:
    operation = stuck_at_the_gate(scripted)
    scripted.arrive()
    operation.refresh_from_db()
    assert (operation.state, operation.again_from) == (State.COMPLETED, "")
    assert len(scripted.peer.asked(peer.CALL)) == 1


def test_released_it_is_sent_once_more_and_its_answer_counts(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.Nothing(), peer.finished())
    operation = scripted.start()
    scripted.drain()
    operation.refresh_from_db()
    ask_first(scripted, operation)
    scripted.drain()
    assert len(scripted.peer.asked(peer.CALL)) == 1
    gate.release(operation.pk, actor=DESK, now=scripted.clock.now)
    assert scripted.settle(operation).state == State.COMPLETED
    assert len(scripted.peer.asked(peer.CALL)) == 2


def test_a_stuck_task_is_looked_at_again_once_it_is_not_sent_again(
    scripted: ScriptedDesk,
) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    operation = scripted.begin(scripted.start())
    scripted.arrive()
    Operation.objects.filter(pk=operation.pk).update(state=State.STUCK)
    operation.refresh_from_db()
    task = operation.task_hash
    ask_first(scripted, operation)
    assert operation.due_at is None
    reason = "Denied"
    gate.deny(operation.pk, actor=DESK, now=scripted.clock.now, reason=reason)
    operation.refresh_from_db()
    assert (operation.state, operation.task_hash) == (State.STUCK, task)
    assert operation.due_at == scripted.clock.now


def stuck_task(desk: ScriptedDesk) -> Operation:
    """A task that is stuck, and due to be looked at."""
    due = {"task_id": peer.TASK_ID, "due_at": desk.clock.now}
    return OperationFactory(server=desk.server, state=State.STUCK, **due)


def test_the_end_of_a_task_that_comes_meanwhile_counts_and_nothing_is_sent_again(
    scripted: ScriptedDesk,
) -> None:
    scripted.peer.will(peer.GET, peer.completed())
    operation = scripted.begin(stuck_task(scripted))
    ask_first(scripted, operation)
    scripted.arrive()
    operation.refresh_from_db()
    assert (operation.state, operation.again_from) == (State.COMPLETED, "")
    assert operation.payload.result is not None


def test_a_task_that_only_goes_on_meanwhile_leaves_the_gate_alone(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.GET, peer.task())
    operation = scripted.begin(stuck_task(scripted))
    ask_first(scripted, operation)
    scripted.arrive()
    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.AWAITING_APPROVAL, None)


def test_what_waits_at_the_gate_is_not_checked(scripted: ScriptedDesk) -> None:
    operation = ask_first(scripted, stuck_task(scripted))
    with pytest.raises(Refused, match="waits for approval"):
        check_now(operation.pk, actor=scripted.actor, now=scripted.clock.now)
    operation.refresh_from_db()
    assert operation.due_at is None


def test_an_answer_given_meanwhile_is_kept_and_sent_once_it_is_not_sent_again(
    scripted: ScriptedDesk,
) -> None:
    scripted.peer.will(peer.GET, peer.waiting("go"), peer.waiting("go"), peer.completed())
    scripted.peer.will(peer.UPDATE, peer.ACK)
    operation = scripted.settle(stuck_task(scripted))
    Operation.objects.filter(pk=operation.pk).update(state=State.STUCK)
    operation.refresh_from_db()
    ask_first(scripted, operation)
    scripted.answer_all(operation)
    scripted.clock.advance(timedelta(hours=1).total_seconds())
    scripted.drain()
    assert scripted.peer.asked(peer.UPDATE) == []
    gate.deny(operation.pk, actor=DESK, now=scripted.clock.now, reason="Denied")
    assert scripted.finish(operation).state == State.COMPLETED
    assert len(scripted.peer.asked(peer.UPDATE)) == 1
