"""Answer: what was decided is saved once, with the intent to deliver it."""

import pytest
from django.db import IntegrityError

from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import (
    Delivery,
    DeliveryState,
    InputRequest,
    InputRequestState,
    Operation,
)
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import FORM_ACCEPTED, ScriptedDesk
from tests.engine.racing import locks_off, meeting_after, side_by_side

pytestmark = pytest.mark.django_db

DECLINED = {"action": "decline"}


def asked(desk: ScriptedDesk, *keys: str) -> Operation:
    """An operation whose call asks these keys."""
    desk.peer.will(peer.CALL, peer.asking(*(keys or ("go",))), peer.finished())
    operation = desk.start()
    desk.drain()
    return operation


def asked_by_task(desk: ScriptedDesk, *keys: str) -> Operation:
    """An operation whose task asks these keys."""
    desk.peer.will(peer.CALL, peer.handle())
    desk.peer.will(peer.GET, peer.waiting(*(keys or ("go",))))
    desk.peer.will(peer.UPDATE, peer.ACK)
    operation = desk.start()
    return desk.settle(operation)


def test_an_answer_closes_its_question_and_is_saved(scripted: ScriptedDesk) -> None:
    operation = asked(scripted)
    (question,) = scripted.questions(operation)
    version = question.version

    delivery = scripted.answer(question, DECLINED)

    question.refresh_from_db()
    assert (question.state, question.version) == (InputRequestState.ANSWERED, version + 1)
    assert (delivery.state, delivery.response) == (DeliveryState.SAVED, DECLINED)
    assert delivery.answered_by == scripted.actor.user
    assert "answer.saved" in scripted.events(operation)


def test_a_round_goes_out_once_every_question_has_its_answer(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, "first", "second")
    first, second = scripted.questions(operation)

    scripted.answer(first)
    scripted.drain()
    operation.refresh_from_db()
    assert operation.state == State.INPUT_REQUIRED
    assert len(scripted.peer.asked(peer.CALL)) == 1

    scripted.answer(second, DECLINED)
    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.READY, scripted.clock.now)
    scripted.drain()
    sent = scripted.peer.asked(peer.CALL)[1].input_responses
    assert sent == {"first": FORM_ACCEPTED, "second": DECLINED}


def test_a_task_takes_each_answer_as_it_comes(scripted: ScriptedDesk) -> None:
    operation = asked_by_task(scripted, "first", "second")

    scripted.answer(scripted.questions(operation)[0])
    scripted.drain()

    assert scripted.peer.answers() == [{"first": FORM_ACCEPTED}]


def test_a_second_answer_to_a_question_is_refused(scripted: ScriptedDesk) -> None:
    (question,) = scripted.questions(asked(scripted))
    scripted.answer(question)

    with pytest.raises(Refused, match="no longer open"):
        scripted.answer(question, DECLINED)
    assert Delivery.objects.get().action == "accept"


def test_an_answer_after_the_end_is_refused(scripted: ScriptedDesk) -> None:
    operation = asked(scripted)
    (question,) = scripted.questions(operation)
    scripted.cancel(operation)

    with pytest.raises(Refused, match="has ended"):
        scripted.answer(question)
    assert not Delivery.objects.exists()


def test_a_question_that_was_not_declared_takes_no_answer(scripted: ScriptedDesk) -> None:
    sampling = {"model": {"method": "sampling/createMessage", "params": {}}}
    scripted.peer.will(peer.CALL, peer.asking(inputRequests=sampling))
    operation = scripted.start()
    scripted.drain()
    (question,) = scripted.questions(operation)
    assert question.problem

    with pytest.raises(Refused, match="cannot be answered here"):
        scripted.answer(question)
    assert scripted.cancel(operation).state == State.CANCELLED


def test_an_action_that_does_not_exist_is_a_fault_of_ours(scripted: ScriptedDesk) -> None:
    (question,) = scripted.questions(asked(scripted))

    with pytest.raises(ValueError, match="accept, decline or cancel"):
        scripted.answer(question, {"action": "perhaps"})


def test_an_unknown_question_does_not_exist(scripted: ScriptedDesk) -> None:
    with pytest.raises(InputRequest.DoesNotExist):
        scripted.answer(InputRequest(pk=0))


def test_an_answer_that_is_saved_during_a_poll_goes_out_right_after_it(
    scripted: ScriptedDesk,
) -> None:
    operation = asked_by_task(scripted)
    scripted.begin(operation)
    scripted.answer_all(operation)
    scripted.drain()
    assert scripted.peer.answers() == [], "the poll holds the lease"

    scripted.arrive()
    scripted.drain()

    assert len(scripted.peer.answers()) == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_answers_at_once_one_is_refused(scripted: ScriptedDesk) -> None:
    (question,) = scripted.questions(asked(scripted))
    with meeting_after("tasks_monitor.engine.answer.lock"):
        results = side_by_side(*[lambda: scripted.answer(question)] * 2)

    assert {type(result) for result in results} == {Delivery, Refused}
    assert Delivery.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_both_see_an_open_question(scripted: ScriptedDesk) -> None:
    (question,) = scripted.questions(asked(scripted))
    with locks_off(), meeting_after("tasks_monitor.engine.answer.lock"):
        results = side_by_side(*[lambda: scripted.answer(question)] * 2)

    assert {type(result) for result in results} == {Delivery, IntegrityError}


@pytest.mark.django_db(transaction=True)
def test_the_last_two_answers_of_a_round_at_once_send_it(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, "first", "second")
    first, second = scripted.questions(operation)
    with meeting_after("tasks_monitor.engine.answer.lock"):
        side_by_side(lambda: scripted.answer(first), lambda: scripted.answer(second))

    operation.refresh_from_db()
    assert operation.state == State.READY


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_each_thinks_the_other_is_missing(
    scripted: ScriptedDesk,
) -> None:
    operation = asked(scripted, "first", "second")
    first, second = scripted.questions(operation)
    with locks_off(), meeting_after("tasks_monitor.engine.answer._round_is_answered"):
        side_by_side(lambda: scripted.answer(first), lambda: scripted.answer(second))

    operation.refresh_from_db()
    assert operation.state == State.INPUT_REQUIRED, "all is answered, and nothing will be sent"
