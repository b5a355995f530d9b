"""Waiting for approval, as far as the engine knows of it: nothing is sent until it is released."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from mcpdesk.audit.models import Event
from tasks_monitor.engine import gate
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.start import start
from tasks_monitor.models import Operation
from tasks_monitor.states import State
from tests.engine.desk import ScriptedDesk
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def a_request(desk: ScriptedDesk, **more: Any) -> Operation:
    return start(
        team_id=desk.server.team_id,
        server_id=desk.server.pk,
        tool_name="echo",
        arguments={"text": "hi"},
        actor=desk.actor,
        now=NOW,
        awaiting_approval=True,
        **more,
    ).operation


def test_nothing_is_due_and_nothing_is_sent_before_it_is_released(scripted: ScriptedDesk) -> None:
    operation = a_request(scripted)
    scripted.clock.advance(24 * 3600)
    scripted.sweep()
    scripted.drain()
    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.AWAITING_APPROVAL, None)
    assert not operation.attempts.exists()
    assert scripted.events(operation) == ["operation.requested"]


def test_released_it_is_due_at_once_and_rings(
    scripted: ScriptedDesk,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    rung: list[Any] = []
    monkeypatch.setattr("tasks_monitor.engine.doorbell.ring", rung.append)
    with django_capture_on_commit_callbacks(execute=True):
        operation = a_request(scripted)
    assert rung == []
    later = NOW + timedelta(hours=1)
    with django_capture_on_commit_callbacks(execute=True):
        gate.release(operation.pk, actor=scripted.actor, now=later)
    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.READY, later)
    assert rung == [operation.pk]


def test_denied_it_has_ended_and_the_log_says_by_whom(scripted: ScriptedDesk) -> None:
    operation = a_request(scripted)
    gate.deny(operation.pk, actor=scripted.actor, now=NOW, reason="Denied at the gate")
    operation.refresh_from_db()
    assert (operation.state, operation.finished_at) == (State.DENIED, NOW)
    moved = Event.objects.get(operation_id=operation.pk, kind="operation.moved")
    assert (moved.actor, moved.data["after"]) == (scripted.actor.user, "Denied")


def test_the_clock_expires_it_in_nobodys_name(scripted: ScriptedDesk) -> None:
    operation = a_request(scripted)
    gate.expire(operation.pk, now=NOW)
    operation.refresh_from_db()
    assert operation.state == State.EXPIRED
    assert Event.objects.get(kind="operation.moved").actor is None


def test_cancelled_while_it_waits_it_is_never_sent(scripted: ScriptedDesk) -> None:
    operation = a_request(scripted)
    assert scripted.cancel(operation).state == State.CANCELLED
    with pytest.raises(Refused, match="cancelled"):
        gate.release(operation.pk, actor=scripted.actor, now=NOW)
    operation.refresh_from_db()
    assert operation.state == State.CANCELLED


@pytest.mark.parametrize("state", [one for one in State if one != State.AWAITING_APPROVAL])
def test_no_verb_of_the_gate_touches_any_other_state(scripted: ScriptedDesk, state: State) -> None:
    operation = a_request(scripted)
    Operation.objects.update(state=state)
    for verb in (
        lambda: gate.release(operation.pk, actor=scripted.actor, now=NOW),
        lambda: gate.deny(operation.pk, actor=scripted.actor, now=NOW, reason="no"),
        lambda: gate.expire(operation.pk, now=NOW),
    ):
        with pytest.raises(Refused):
            verb()
    operation.refresh_from_db()
    assert operation.state == state


def test_the_same_key_returns_the_operation_that_waits(scripted: ScriptedDesk) -> None:
    first = a_request(scripted, idempotency_key="k")
    assert a_request(scripted, idempotency_key="k") == first
    assert Operation.objects.count() == 1
