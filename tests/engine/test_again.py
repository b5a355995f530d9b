"""Sending again, past the gate: what comes meanwhile, and what becomes of the call."""

import pytest

from mcpdesk.audit.log import DESK
from tasks_monitor.engine import gate
from tasks_monitor.engine.reconcile import Choice, reconcile
from tasks_monitor.models import Operation
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import LEASE_S, ScriptedDesk

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
