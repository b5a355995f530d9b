"""A task's questions and the answers on their way to it."""

from datetime import timedelta
from typing import Any

import pytest

from tasks_monitor.engine import questions
from tasks_monitor.models import (
    Delivery,
    DeliveryState,
    InputRequest,
    InputRequestState,
    Operation,
)
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import FORM_ACCEPTED, LEASE_S, Desk, ScriptedDesk

pytestmark = pytest.mark.django_db

DECLINED = {"action": "decline"}


def asked(desk: ScriptedDesk, *polls: peer.Said) -> Operation:
    """An operation whose task says this, up to its first question."""
    desk.peer.will(peer.CALL, peer.handle())
    desk.peer.will(peer.GET, *polls)
    desk.peer.will(peer.UPDATE, peer.ACK)
    return desk.settle(desk.start())


def delivery() -> Delivery:
    return Delivery.objects.get()


@pytest.mark.parametrize(
    ("tool", "arguments", "answers"),
    [
        ("task_asks", {}, 1),
        ("task_asks_twice", {}, 2),
        ("task_asks_many", {"keys": 4}, 4),
        ("task_drops_answer", {"drops": 1}, 2),
    ],
)
def test_the_simulators_questions_are_answered_and_the_work_done_once(
    desk: Desk, tool: str, arguments: dict[str, Any], answers: int
) -> None:
    operation = desk.finish(desk.start(tool, nonce=tool, **arguments))

    assert operation.state == State.COMPLETED
    assert desk.simulator.done(tool) == 1
    assert sum(desk.simulator.side_effects()["answers"].values()) == answers
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.OBSERVED}


def test_a_declined_question_ends_the_task_with_nothing_done(desk: Desk) -> None:
    operation = desk.run("task_asks", nonce="no")
    desk.answer_all(operation, DECLINED)
    desk.settle(operation)

    assert (operation.state, desk.simulator.done("no")) == (State.COMPLETED, 0)


def test_a_question_that_the_server_changes_is_asked_anew(desk: Desk) -> None:
    operation = desk.run("task_changes_question", after_ms=0, nonce="changed")
    (question,) = desk.questions(operation)
    assert question.params["message"] == "Delete all of it?"


def test_the_same_key_again_is_the_same_question(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go"), peer.waiting("go", statusMessage="Still"))
    for _ in range(5):
        scripted.look(operation)

    assert InputRequest.objects.count() == 1
    assert scripted.events(operation).count("question.opened") == 1


def test_an_answer_is_sent_acknowledged_and_observed(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go"), peer.task())
    scripted.answer_all(operation)
    assert delivery().state == DeliveryState.SAVED
    scripted.drain()
    assert (delivery().state, delivery().times_sent) == (DeliveryState.ACKNOWLEDGED, 1)

    scripted.look(operation)

    assert (delivery().state, operation.state) == (DeliveryState.OBSERVED, State.WORKING)
    assert scripted.peer.answers() == [{"go": FORM_ACCEPTED}]


def test_answers_go_out_as_they_come(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("first", "second"))
    first, second = scripted.questions(operation)
    scripted.answer(first)
    scripted.drain()
    scripted.answer(second, DECLINED)
    scripted.drain()

    assert scripted.peer.answers() == [{"first": FORM_ACCEPTED}, {"second": DECLINED}]


def test_a_question_that_goes_away_unanswered_was_withdrawn(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go"), peer.task())
    (question,) = scripted.questions(operation)
    scripted.look(operation)

    question.refresh_from_db()
    assert question.state == InputRequestState.WITHDRAWN


def test_a_withdrawn_question_that_is_asked_again_is_a_new_one(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go"), peer.task(), peer.waiting("go"))
    scripted.look(operation)
    scripted.look(operation)

    assert [question.revision for question in scripted.questions(operation)] == [2]


def test_an_answer_to_a_question_withdrawn_meanwhile_is_not_sent(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go"), peer.task())
    scripted.begin(operation)
    scripted.answer_all(operation)
    scripted.arrive()
    scripted.drain()

    assert delivery().state == DeliveryState.NOT_NEEDED
    assert scripted.peer.answers() == []


CHANGED = peer.task("input_required", inputRequests={"go": peer.form("Delete all of it?")})


def test_a_changed_question_replaces_the_open_one(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go"), CHANGED)
    (old,) = scripted.questions(operation)
    scripted.look(operation)

    old.refresh_from_db()
    (new,) = scripted.questions(operation)
    assert (old.state, new.revision) == (InputRequestState.SUPERSEDED, 2)


def _changing(poll: int) -> dict[str, Any]:
    """Every question in other words than at the poll before."""
    questions = {f"k{n}": peer.form(f"Poll {poll}?") for n in range(2)}
    return peer.task("input_required", inputRequests=questions)


def test_a_task_that_asks_without_end_is_stuck_and_asks_no_more(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "MAX_QUESTIONS", 5)
    operation = asked(scripted, *(_changing(poll) for poll in range(9)), peer.task())
    for _ in range(2):
        scripted.look(operation)
    assert operation.state == State.STUCK
    assert operation.input_requests.count() == 5
    events = len(scripted.events(operation))

    for _ in range(9):
        scripted.look(operation)
    assert operation.state == State.STUCK, "also where the server says that it works"
    assert not scripted.questions(operation)
    assert operation.input_requests.count() == 5
    assert len(scripted.events(operation)) <= events + 2

    scripted.peer.will(peer.GET, peer.completed())
    assert scripted.look(operation).state == State.COMPLETED


def test_no_answer_carries_over_to_a_changed_question(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go"), CHANGED)
    scripted.begin(operation)
    scripted.answer_all(operation)
    scripted.arrive()
    for _ in range(6):
        scripted.look(operation)

    assert delivery().state == DeliveryState.NOT_NEEDED
    assert scripted.peer.answers() == []
    assert len(scripted.questions(operation)) == 1


@pytest.mark.parametrize("said", [peer.ACK, peer.Nothing()])
def test_a_question_changed_after_its_answer_was_sent_holds_up_no_later_answer(
    scripted: ScriptedDesk, said: peer.Said
) -> None:
    operation = asked(scripted, peer.waiting("go"), CHANGED)
    scripted.peer.will(peer.UPDATE, said, peer.ACK)
    scripted.answer_all(operation)
    scripted.drain()
    scripted.look(operation)
    assert delivery().state == DeliveryState.NOT_NEEDED
    scripted.answer_all(operation, DECLINED)
    scripted.drain()

    assert scripted.peer.answers()[1:] == [{"go": DECLINED}]


def test_an_acknowledged_answer_that_is_still_asked_is_sent_once_more_then_stuck(
    scripted: ScriptedDesk,
) -> None:
    operation = asked(scripted, peer.waiting("go"))
    scripted.answer_all(operation)
    scripted.drain()
    for polls in (1, 2):
        scripted.look(operation)
        assert (delivery().outstanding_polls, len(scripted.peer.answers())) == (polls, 1)
    scripted.look(operation)
    assert scripted.peer.answers() == [{"go": FORM_ACCEPTED}] * 2, "the identical answer"
    assert "answer.ignored" in scripted.events(operation)

    for _ in range(10):
        scripted.look(operation)

    assert (operation.state, delivery().state) == (State.STUCK, DeliveryState.IGNORED)
    assert len(scripted.peer.answers()) == 2


def test_a_stuck_task_that_takes_the_answer_after_all_goes_on(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go"))
    scripted.answer_all(operation)
    for _ in range(12):
        scripted.look(operation)
    assert operation.state == State.STUCK

    scripted.peer.will(peer.GET, peer.task(), peer.completed())
    scripted.settle(operation)

    assert (operation.state, delivery().state) == (State.COMPLETED, DeliveryState.OBSERVED)


def test_the_simulator_that_drops_every_answer_gets_two_and_no_more(desk: Desk) -> None:
    operation = desk.run("task_drops_answer", drops=100, nonce="dropped")
    desk.answer_all(operation)
    for _ in range(14):
        desk.look(operation)

    assert operation.state == State.STUCK
    assert desk.simulator.side_effects()["answers"] == {"task_drops_answer:go": 2}


@pytest.mark.parametrize("said", [peer.Nothing(), peer.Error(-32602), peer.Error(-32000)])
def test_an_answer_that_was_not_acknowledged_asks_first_how_the_task_stands(
    scripted: ScriptedDesk, said: peer.Said
) -> None:
    operation = asked(scripted, peer.waiting("go"), peer.waiting("go"), peer.task())
    scripted.peer.will(peer.UPDATE, said, peer.ACK)
    scripted.answer_all(operation)
    scripted.drain()
    assert (delivery().state, len(scripted.peer.answers())) == (DeliveryState.SENT, 1)
    assert operation.state == State.INPUT_REQUIRED, "nothing has failed"

    scripted.look(operation)
    methods = [peer.method_of(work) for work in scripted.peer.sent]
    assert methods[-3:] == [peer.UPDATE, peer.GET, peer.UPDATE]
    assert scripted.peer.answers() == [{"go": FORM_ACCEPTED}] * 2


@pytest.mark.parametrize("said", [peer.Nothing(), peer.Error(-32602)])
def test_an_answer_in_doubt_whose_key_is_gone_was_taken(
    scripted: ScriptedDesk, said: peer.Said
) -> None:
    operation = asked(scripted, peer.waiting("go"), peer.task())
    scripted.peer.will(peer.UPDATE, said)
    scripted.answer_all(operation)
    scripted.drain()
    scripted.look(operation)

    assert delivery().state == DeliveryState.OBSERVED
    assert len(scripted.peer.answers()) == 1


def test_an_answer_that_the_server_never_takes_ends_with_an_operator(
    scripted: ScriptedDesk,
) -> None:
    operation = asked(scripted, peer.waiting("go"))
    scripted.peer.will(peer.UPDATE, peer.Error(-32602))
    scripted.answer_all(operation)
    for _ in range(30):
        scripted.look(operation)

    assert (operation.state, delivery().state) == (State.STUCK, DeliveryState.IGNORED)
    assert len(scripted.peer.answers()) == 5


def test_an_answer_in_doubt_waits_for_the_poll_interval(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go", pollIntervalMs=20_000))
    scripted.peer.will(peer.UPDATE, peer.Nothing())
    scripted.answer_all(operation)
    scripted.drain()
    polls = len(scripted.peer.asked(peer.GET))
    scripted.clock.advance(10)
    scripted.drain()
    assert len(scripted.peer.asked(peer.GET)) == polls

    operation.refresh_from_db()
    assert operation.due_at is not None
    assert operation.due_at - scripted.clock.now >= timedelta(seconds=10)


def test_an_update_whose_worker_is_gone_is_not_sent_again_unasked(
    scripted: ScriptedDesk,
) -> None:
    operation = asked(scripted, peer.waiting("go"), peer.task())
    scripted.answer_all(operation)
    scripted.begin(operation)
    scripted.clock.advance(LEASE_S)
    scripted.drain()

    assert len(scripted.peer.answers()) == 1
    assert delivery().state == DeliveryState.OBSERVED


def test_a_late_poll_does_not_send_an_answer_that_is_on_its_way(scripted: ScriptedDesk) -> None:
    """The poll was made before the answer left; by another worker, whose lease has ended."""
    operation = asked(scripted, peer.waiting("go"), peer.waiting("go", statusMessage="x"))
    scripted.begin(operation)
    scripted.clock.advance(LEASE_S)
    scripted.answer_all(operation)
    scripted.begin(operation)
    assert len(scripted.peer.answers()) == 1

    scripted.arrive()
    scripted.drain()

    assert len(scripted.peer.answers()) == 1


def test_a_late_acknowledgement_is_written_down(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("go"))
    scripted.answer_all(operation)
    scripted.begin(operation)
    scripted.clock.advance(LEASE_S)
    scripted.arrive()

    assert delivery().state == DeliveryState.ACKNOWLEDGED


def test_questions_that_were_not_declared_stand_beside_good_ones(scripted: ScriptedDesk) -> None:
    requests = {"go": peer.form(), "model": {"method": "sampling/createMessage", "params": {}}}
    operation = asked(scripted, peer.task("input_required", inputRequests=requests))

    assert sorted(bool(q.problem) for q in scripted.questions(operation)) == [False, True]
    assert "question.undeclared" in scripted.events(operation)
    good = next(q for q in scripted.questions(operation) if not q.problem)
    scripted.answer(good)
    scripted.drain()
    assert scripted.peer.answers() == [{"go": FORM_ACCEPTED}]


def test_the_end_closes_what_is_still_asked(scripted: ScriptedDesk) -> None:
    operation = asked(scripted, peer.waiting("first", "second"), peer.completed())
    first, second = scripted.questions(operation)
    scripted.begin(operation)
    scripted.answer(first)
    scripted.arrive()

    second.refresh_from_db()
    assert second.state == InputRequestState.CLOSED
    assert delivery().state == DeliveryState.NOT_NEEDED


def test_each_of_a_rounds_and_a_tasks_questions_is_its_own(scripted: ScriptedDesk) -> None:
    """The same key before the task and in it is two questions."""
    scripted.peer.will(peer.CALL, peer.asking("go"), peer.handle())
    scripted.peer.will(peer.GET, peer.waiting("go"), peer.waiting("go"), peer.completed())
    scripted.peer.will(peer.UPDATE, peer.ACK)
    operation = scripted.finish(scripted.start())

    assert operation.state == State.COMPLETED
    assert sorted(InputRequest.objects.values_list("source", flat=True)) == ["mrtr", "task"]
    assert scripted.peer.answers() == [{"go": FORM_ACCEPTED}]
