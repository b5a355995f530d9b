"""Reconcile: an operator says what became of an operation that the desk cannot follow."""

from typing import Any
from unittest import mock

import pytest

from mcpdesk.audit.models import Event
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.reconcile import Choice, Followed, reconcile
from tasks_monitor.models import Delivery, DeliveryState, InputRequestState, Operation
from tasks_monitor.states import NEEDS_OPERATOR, State
from tests.engine import peer
from tests.engine.desk import ScriptedDesk
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import OperationFactory

pytestmark = pytest.mark.django_db

OTHER = "task-0002"


def decided(desk: ScriptedDesk, operation: Operation, choice: Choice, **more: Any) -> Operation:
    evidence = "seen there" if choice == Choice.RECORD_DONE else ""
    said = {"reason": "looked at their console", "evidence": evidence}
    request = {**said, "actor": desk.actor, "now": desk.clock.now}
    return reconcile(operation.pk, choice=choice, **{**request, **more})


def unknown(desk: ScriptedDesk, *next_answers: peer.Said) -> Operation:
    """An operation whose call got no answer."""
    desk.peer.will(peer.CALL, peer.Nothing(), *next_answers)
    operation = desk.start()
    desk.drain()
    operation.refresh_from_db()
    assert operation.state == State.UNKNOWN
    return operation


def lost(desk: ScriptedDesk, **first: Any) -> Operation:
    """An operation whose task asked something and is not known any more."""
    desk.peer.will(peer.CALL, peer.handle())
    desk.peer.will(peer.GET, peer.waiting("go"), peer.Error(-32602))
    desk.peer.will(peer.UPDATE, peer.ACK)
    operation = desk.settle(desk.start())
    if first.get("answered"):
        desk.answer_all(operation)
    for _ in range(5):
        desk.look(operation)
    assert operation.state == State.LOST
    return operation


def test_a_call_is_sent_again_under_a_new_id(scripted: ScriptedDesk) -> None:
    operation = unknown(scripted, peer.finished())
    decided(scripted, operation, Choice.SEND_AGAIN)

    assert scripted.settle(operation).state == State.COMPLETED
    first, second = scripted.peer.asked(peer.CALL)
    assert first.request_id != second.request_id
    assert (first.arguments, first.tool_name) == (second.arguments, second.tool_name)
    assert operation.explanation == "The tool returned its result"


def test_a_round_without_an_answer_is_sent_again_with_its_answers(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.asking("go"), peer.Nothing(), peer.finished())
    operation = scripted.finish(scripted.start())
    assert operation.state == State.UNKNOWN
    decided(scripted, operation, Choice.SEND_AGAIN)
    scripted.settle(operation)

    _, second, third = scripted.peer.asked(peer.CALL)
    assert (third.input_responses, third.request_state) == (second.input_responses, "state")
    assert third.input_responses is not None


def test_after_a_task_the_call_begins_anew(scripted: ScriptedDesk) -> None:
    """Answers and requestState of the rounds before the task went with that call and no other."""
    scripted.peer.will(peer.CALL, peer.asking("go"), peer.handle(), peer.finished())
    scripted.peer.will(peer.GET, peer.Error(-32602))
    operation = scripted.finish(scripted.start())
    assert operation.state == State.LOST
    decided(scripted, operation, Choice.SEND_AGAIN)
    scripted.settle(operation)

    last = scripted.peer.asked(peer.CALL)[-1]
    assert (last.input_responses, last.request_state) == (None, None)
    assert (operation.state, operation.task_hash) == (State.COMPLETED, "")


@pytest.mark.parametrize("answered", [True, False])
def test_no_answer_to_the_lost_task_counts_for_the_next_one(
    scripted: ScriptedDesk, answered: bool
) -> None:
    operation = lost(scripted, answered=answered)
    sent = len(scripted.peer.answers())
    scripted.peer.will(peer.CALL, peer.handle(taskId=OTHER))
    scripted.peer.will(peer.GET, peer.waiting("go", taskId=OTHER))
    decided(scripted, operation, Choice.SEND_AGAIN)
    for _ in range(8):
        scripted.look(operation)

    assert len(scripted.peer.answers()) == sent
    assert [question.revision for question in scripted.questions(operation)] == [2]
    scripted.answer_all(operation)
    scripted.drain()
    assert len(scripted.peer.answers()) == sent + 1


def test_questions_of_a_given_up_task_are_closed(scripted: ScriptedDesk) -> None:
    operation = lost(scripted)
    (question,) = scripted.questions(operation)
    decided(scripted, operation, Choice.SEND_AGAIN)

    question.refresh_from_db()
    assert question.state == InputRequestState.CLOSED
    with pytest.raises(Refused):
        scripted.answer(question)


def test_an_answer_on_its_way_to_a_given_up_task_is_not_needed(scripted: ScriptedDesk) -> None:
    operation = lost(scripted, answered=True)
    decided(scripted, operation, Choice.ATTACH_TASK, task_id=OTHER)

    assert Delivery.objects.get().state == DeliveryState.NOT_NEEDED


def test_another_task_is_followed(scripted: ScriptedDesk) -> None:
    operation = unknown(scripted)
    scripted.peer.will(peer.GET, peer.completed(taskId=OTHER))
    decided(scripted, operation, Choice.ATTACH_TASK, task_id=OTHER)

    assert scripted.settle(operation).state == State.COMPLETED


@pytest.mark.parametrize(
    ("choice", "state"),
    [(Choice.RECORD_DONE, State.COMPLETED), (Choice.RECORD_FAILED, State.FAILED)],
)
@pytest.mark.parametrize("before", sorted(NEEDS_OPERATOR))
def test_an_outcome_is_recorded_with_its_reason(
    scripted: ScriptedDesk, before: State, choice: Choice, state: State
) -> None:
    operation = OperationFactory(server=scripted.server, state=before)
    decided(scripted, operation, choice, reason="I saw it CANARY")

    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (state, None)
    assert "I saw it CANARY" in operation.explanation
    events = Event.objects.filter(operation_id=operation.pk)
    assert "operation.reconciled" in {event.kind for event in events}
    assert not any("CANARY" in str(event.data) for event in events), "it is a person's own text"


@pytest.mark.parametrize("choice", list(Choice))
def test_every_decision_is_kept_with_its_reason(scripted: ScriptedDesk, choice: Choice) -> None:
    operation = unknown(scripted)
    decided(scripted, operation, choice, reason=" their console said so ", task_id=OTHER)

    kept = Operation.objects.get(pk=operation.pk).payload.decisions
    assert [(d["by"], d["reason"]) for d in kept] == [
        (scripted.actor.name, "their console said so")
    ]
    assert kept[0]["at"] == scripted.clock.now.isoformat()


@pytest.mark.parametrize("state", sorted(set(State) - NEEDS_OPERATOR))
def test_only_what_needs_an_operator_is_reconciled(scripted: ScriptedDesk, state: State) -> None:
    operation = OperationFactory(server=scripted.server, state=state)

    with pytest.raises(Refused, match="Only lost"):
        decided(scripted, operation, Choice.RECORD_DONE)
    assert scripted.events(operation) == []


@pytest.mark.parametrize("reason", ["", "  ", "\x00", "\ud800"])
def test_a_reason_is_needed(scripted: ScriptedDesk, reason: str) -> None:
    with pytest.raises(Refused, match="Say why"):
        decided(scripted, unknown(scripted), Choice.RECORD_DONE, reason=reason)


def test_an_adopted_task_has_no_call_to_send(scripted: ScriptedDesk) -> None:
    operation = OperationFactory(server=scripted.server, state=State.LOST, adopted=True)

    with pytest.raises(Refused, match="not called by this desk"):
        decided(scripted, operation, Choice.SEND_AGAIN)


@pytest.mark.parametrize("task_id", [None, "", "\x00", "x" * 5000])
def test_a_task_id_must_be_one(scripted: ScriptedDesk, task_id: str | None) -> None:
    with pytest.raises(Refused, match="task id"):
        decided(scripted, unknown(scripted), Choice.ATTACH_TASK, task_id=task_id)


def test_a_task_of_another_operation_is_not_attached(scripted: ScriptedDesk) -> None:
    OperationFactory(server=scripted.server, task_id=OTHER)

    with pytest.raises(Refused, match="Another operation"):
        decided(scripted, unknown(scripted), Choice.ATTACH_TASK, task_id=OTHER)


def test_the_lost_task_itself_may_be_attached_again(scripted: ScriptedDesk) -> None:
    operation = lost(scripted)
    scripted.peer.will(peer.GET, peer.completed())
    decided(scripted, operation, Choice.ATTACH_TASK, task_id=peer.TASK_ID)

    assert scripted.settle(operation).state == State.COMPLETED


def test_a_second_decision_is_refused(scripted: ScriptedDesk) -> None:
    operation = unknown(scripted)
    decided(scripted, operation, Choice.RECORD_DONE)

    with pytest.raises(Refused):
        decided(scripted, operation, Choice.RECORD_FAILED)
    operation.refresh_from_db()
    assert operation.state == State.COMPLETED


@pytest.mark.parametrize("choice", [Choice.SEND_AGAIN, Choice.ATTACH_TASK])
def test_a_late_answer_about_the_given_up_task_changes_nothing(
    scripted: ScriptedDesk, choice: Choice
) -> None:
    operation = OperationFactory(
        server=scripted.server,
        state=State.STUCK,
        task_id=peer.TASK_ID,
        due_at=scripted.clock.now,
    )
    scripted.peer.will(peer.GET, peer.completed())
    scripted.begin(operation)
    decided(scripted, operation, choice, task_id=OTHER)

    scripted.arrive()

    operation.refresh_from_db()
    expected = State.READY if choice == Choice.SEND_AGAIN else State.WORKING
    assert (operation.state, operation.due_at) == (expected, scripted.clock.now)


def test_an_old_cancellation_does_not_end_what_is_sent_again(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.Nothing(), peer.asking("go"))
    operation = scripted.begin(scripted.start())
    scripted.cancel(operation)
    scripted.arrive()
    decided(scripted, operation, Choice.SEND_AGAIN)

    assert scripted.settle(operation).state == State.INPUT_REQUIRED


@pytest.mark.django_db(transaction=True)
def test_of_two_decisions_at_once_one_is_refused(scripted: ScriptedDesk) -> None:
    operation = unknown(scripted)
    with meeting_after("tasks_monitor.engine.reconcile.lock"):
        results = side_by_side(
            lambda: decided(scripted, operation, Choice.RECORD_DONE),
            lambda: decided(scripted, operation, Choice.SEND_AGAIN),
        )

    assert {type(result) for result in results} == {Operation, Refused}
    assert scripted.events(operation).count("operation.reconciled") == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_the_second_one_is_caught_by_the_state_only(
    scripted: ScriptedDesk,
) -> None:
    operation = unknown(scripted)
    with locks_off(), meeting_after("tasks_monitor.engine.reconcile.lock"):
        results = side_by_side(
            lambda: decided(scripted, operation, Choice.RECORD_DONE),
            lambda: decided(scripted, operation, Choice.SEND_AGAIN),
        )

    assert "Raced" in {type(result).__name__ for result in results}


def _both_attach(desk: ScriptedDesk) -> list[Any]:
    """Two operations that broke, and two operators who give each of them the same task."""
    operations = [unknown(desk), unknown(desk)]
    attach = [
        lambda one=one: decided(desk, one, Choice.ATTACH_TASK, task_id=OTHER) for one in operations
    ]
    with meeting_after("tasks_monitor.engine.reconcile.followed"):
        return side_by_side(*attach)


@pytest.mark.django_db(transaction=True)
def test_a_task_that_two_give_to_two_operations_at_once_is_followed_by_one(
    scripted: ScriptedDesk,
) -> None:
    results = _both_attach(scripted)

    assert {type(result) for result in results} == {Operation, Followed}
    assert Operation.objects.filter(state=State.WORKING).count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_both_follow_it(scripted: ScriptedDesk) -> None:
    with mock.patch("tasks_monitor.engine.reconcile.be_alone_at"):
        _both_attach(scripted)

    assert Operation.objects.filter(state=State.WORKING).count() == 2
