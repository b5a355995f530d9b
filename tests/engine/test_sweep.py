"""Sweep: finds what nobody rang for, and ends what has run out."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from pytest_django import Settings

from mcpdesk.audit.models import Channel, Event
from tasks_monitor.engine import sweep as module
from tasks_monitor.engine.sweep import anything_due, sweep
from tasks_monitor.models import Attempt, AttemptOutcome, InputRequestState, Operation
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import LEASE_S, ScriptedDesk
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import InputRequestFactory, OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db


def calling(desk: ScriptedDesk, *, repeatable: bool = False) -> Operation:
    """An operation whose call is on its way, by a worker that will not come back."""
    desk.peer.will(peer.CALL, peer.finished())
    operation = desk.begin(desk.start(repeatable=repeatable))
    operation.refresh_from_db()
    assert operation.state == State.CALLING
    return operation


def test_a_call_whose_worker_is_gone_is_unknown_once_the_lease_has_ended(
    scripted: ScriptedDesk,
) -> None:
    operation = calling(scripted)
    leased_until = operation.leased_until
    assert leased_until is not None
    scripted.clock.now = leased_until - timedelta(microseconds=1)
    assert scripted.sweep() == 0

    scripted.clock.now = leased_until
    assert scripted.sweep() == 1

    operation.refresh_from_db()
    assert (operation.state, operation.due_at, operation.lease_token) == (State.UNKNOWN, None, None)
    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.finished_at) == (AttemptOutcome.UNKNOWN, leased_until)
    last = Event.objects.filter(operation_id=operation.pk).latest("id")
    assert last.channel == Channel.CLOCK


def test_a_second_sweep_changes_nothing(scripted: ScriptedDesk) -> None:
    operation = calling(scripted)
    scripted.clock.advance(LEASE_S)
    scripted.sweep()
    events = scripted.events(operation)

    assert scripted.sweep() == 0
    assert scripted.events(operation) == events


def test_a_repeatable_call_goes_out_again_within_bounds(scripted: ScriptedDesk) -> None:
    operation = calling(scripted, repeatable=True)
    for _ in range(5):
        scripted.clock.advance(LEASE_S)
        scripted.sweep()
        scripted.begin(operation)

    operation.refresh_from_db()
    assert operation.state == State.UNKNOWN
    assert len(scripted.peer.asked(peer.CALL)) == 3


def test_an_answer_that_comes_after_the_sweep_still_counts(scripted: ScriptedDesk) -> None:
    operation = calling(scripted)
    scripted.clock.advance(LEASE_S)
    scripted.sweep()
    scripted.arrive()

    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.COMPLETED, None)


def test_a_poll_whose_worker_is_gone_is_made_again(scripted: ScriptedDesk) -> None:
    operation = OperationFactory(
        server=scripted.server,
        state=State.WORKING,
        task_id=peer.TASK_ID,
        due_at=scripted.clock.now,
    )
    scripted.peer.will(peer.GET, peer.completed())
    scripted.begin(operation)
    scripted.drain()
    assert len(scripted.peer.asked(peer.GET)) == 1, "the lease holds"

    scripted.clock.advance(LEASE_S)
    scripted.drain()

    operation.refresh_from_db()
    assert operation.state == State.COMPLETED


@pytest.mark.parametrize(
    ("state", "expires"),
    [
        (State.AWAITING_APPROVAL, True),
        (State.READY, True),
        (State.INPUT_REQUIRED, True),
        (State.WORKING, True),
        (State.STUCK, True),
        (State.CALLING, False),
        (State.UNKNOWN, False),
        (State.LOST, False),
        (State.COMPLETED, False),
    ],
)
def test_our_own_deadline_ends_what_waits_and_is_nobodys_refusal(
    scripted: ScriptedDesk, state: State, expires: bool
) -> None:
    operation = OperationFactory(
        server=scripted.server, state=state, deadline_at=scripted.clock.now
    )
    question = InputRequestFactory(operation=operation)
    scripted.sweep()

    operation.refresh_from_db()
    question.refresh_from_db()
    assert operation.state == (State.EXPIRED if expires else state)
    expected = InputRequestState.EXPIRED if expires else InputRequestState.OPEN
    assert question.state == expected


def test_before_the_deadline_nothing_ends(scripted: ScriptedDesk) -> None:
    later = scripted.clock.now + timedelta(microseconds=1)
    OperationFactory(server=scripted.server, state=State.WORKING, deadline_at=later)

    assert scripted.sweep() == 0


@pytest.mark.parametrize("columns", [{"polls": 100_000}, {"age_days": 31}])
def test_past_the_bounds_an_operator_has_to_look(
    scripted: ScriptedDesk, columns: dict[str, Any]
) -> None:
    created = scripted.clock.now - timedelta(days=columns.pop("age_days", 0))
    due = {"task_id": peer.TASK_ID, "due_at": scripted.clock.now, "created_at": created}
    operation = OperationFactory(server=scripted.server, state=State.WORKING, **due, **columns)
    scripted.sweep()

    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.STUCK, None)


def test_a_poll_on_its_way_past_the_bounds_does_not_start_it_again(
    scripted: ScriptedDesk, settings: Settings
) -> None:
    settings.ENGINE = {**settings.ENGINE, "MAX_POLLS": 3}
    scripted.peer.will(peer.CALL, peer.handle())
    scripted.peer.will(peer.GET, peer.task())
    operation = scripted.start()
    for _ in range(4):
        scripted.look(operation)
    scripted.begin(operation)
    scripted.sweep()
    scripted.arrive()
    scripted.sweep()

    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.STUCK, None)


def test_a_stuck_task_is_not_polled_for_ever_either(scripted: ScriptedDesk) -> None:
    polls = settings.ENGINE["MAX_POLLS"]
    due = {"task_id": peer.TASK_ID, "due_at": scripted.clock.now, "polls": polls}
    operation = OperationFactory(server=scripted.server, state=State.STUCK, **due)
    scripted.sweep()

    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.STUCK, None)
    assert scripted.sweep() == 0


def test_a_row_that_cannot_be_changed_keeps_no_other_one_waiting(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = calling(scripted), calling(scripted)
    lose = module._lose_call

    def broken(pk: Any, now: Any) -> bool:
        if pk == first.pk:
            raise ValueError("a fault of ours")
        return lose(pk, now)

    monkeypatch.setattr(module, "_lose_call", broken)
    scripted.clock.advance(LEASE_S)
    scripted.sweep()

    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == (State.CALLING, State.UNKNOWN)


def test_a_task_id_and_a_credential_that_no_key_opens_stop_no_sweep(
    scripted: ScriptedDesk,
) -> None:
    operation = calling(scripted)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tasks_monitor_operation SET task_id = 'garbage'")
        cursor.execute("UPDATE tasks_monitor_server SET credential = 'garbage'")
    scripted.clock.advance(LEASE_S)

    assert sweep(scripted.clock.now) == 1
    assert Operation.objects.filter(pk=operation.pk, state=State.UNKNOWN).exists()


@pytest.mark.parametrize(
    ("operation", "server", "due"),
    [
        ({}, {}, True),
        ({"due_at": None}, {}, False),
        ({"due_in": 1}, {}, False),
        ({"leased": 1}, {}, False),
        ({"leased": 0}, {}, True),
        ({}, {"paused": True}, False),
        ({}, {"held": 1}, False),
        ({}, {"held": 0}, True),
    ],
)
def test_something_is_due_when_a_worker_could_claim_it(
    scripted: ScriptedDesk, operation: dict[str, Any], server: dict[str, Any], due: bool
) -> None:
    now = scripted.clock.now
    columns = {"due_at": now + timedelta(seconds=operation.get("due_in", 0))} | {
        k: v for k, v in operation.items() if k == "due_at"
    }
    if "leased" in operation:
        columns["leased_until"] = now + timedelta(seconds=operation["leased"])
        columns["lease_token"] = "00000000-0000-0000-0000-000000000001"
    held = {"not_before": now + timedelta(seconds=server["held"])} if "held" in server else {}
    paused = {"paused": True} if "paused" in server else {}
    OperationFactory(server=ServerFactory(**held, **paused), state=State.READY, **columns)

    assert anything_due(now) is due


@pytest.mark.django_db(transaction=True)
def test_two_sweeps_at_once_move_a_lost_call_once(scripted: ScriptedDesk) -> None:
    operation = calling(scripted)
    scripted.clock.advance(LEASE_S)
    with meeting_after("tasks_monitor.engine.sweep.lock"):
        results = side_by_side(scripted.sweep, scripted.sweep)

    assert sorted(results) == [0, 1]
    assert scripted.moves(operation).count(State.UNKNOWN.label) == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_the_second_sweep_runs_into_the_first(
    scripted: ScriptedDesk,
) -> None:
    operation = calling(scripted)
    scripted.clock.advance(LEASE_S)
    lose = module._lose_call
    with locks_off(), meeting_after("tasks_monitor.engine.sweep.lock"):
        results = side_by_side(*[lambda: lose(operation.pk, scripted.clock.now)] * 2)

    assert "Raced" in {type(result).__name__ for result in results}
