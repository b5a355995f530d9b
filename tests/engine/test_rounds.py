"""MRTR: a call that asks before it goes on, round after round."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tasks_monitor.models import Delivery, DeliveryState, InputRequest, Operation
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import FORM_ACCEPTED, Desk, ScriptedDesk
from tests.factories import ServerFactory
from tests.simulator.process import SimulatorProcess

pytestmark = pytest.mark.django_db

DECLINED = {"action": "decline"}


@pytest.mark.parametrize(
    ("tool", "arguments", "questions"),
    [
        ("ask_once", {}, 1),
        ("ask_rounds", {"rounds": 4}, 4),
        ("ask_many", {"keys": 5}, 5),
        ("ask_without_state", {}, 1),
        ("ask_empty_state", {}, 1),
        ("ask_then_once_only", {}, 1),
        ("ask_then_task", {"duration_ms": 0}, 1),
        ("ask_then_task_asks", {"duration_ms": 0}, 2),
    ],
)
def test_each_kind_of_round_is_answered_and_done_once(
    desk: Desk, tool: str, arguments: dict[str, Any], questions: int
) -> None:
    operation = desk.finish(desk.start(tool, nonce=tool, **arguments))

    assert (operation.state, operation.is_error) == (State.COMPLETED, False)
    assert desk.simulator.done(tool) == 1
    assert InputRequest.objects.filter(operation=operation).count() == questions
    answers = desk.simulator.side_effects()["answers"]
    assert sorted(answers.values()) == [1] * questions
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.OBSERVED}


def test_a_refusal_reaches_the_server_and_nothing_is_done(desk: Desk) -> None:
    operation = desk.run("ask_once", nonce="no")
    desk.answer_all(operation, DECLINED)
    desk.settle(operation)

    assert operation.state == State.COMPLETED
    assert desk.simulator.done("no") == 0


def test_the_state_of_a_round_that_is_over_is_refused_by_the_server(desk: Desk) -> None:
    operation = desk.run("ask_expiring_state", ttl_ms=1, nonce="late")
    desk.answer_all(operation)
    desk.settle(operation)

    assert operation.state == State.FAILED
    assert operation.error_code is not None
    assert desk.simulator.done("late") == 0


@pytest.fixture(scope="module")
def instances() -> Iterator[SimulatorProcess]:
    """Three instances that know nothing of each other, behind a balancer."""
    with SimulatorProcess("--seed", "s", "--instance", "a,b,c") as process:
        yield process


def test_each_round_may_meet_another_instance(desk: Desk, instances: SimulatorProcess) -> None:
    desk.server.url = instances.url
    desk.server.save()
    operation = desk.finish(desk.start("ask_rounds", rounds=4, nonce="balanced"))

    assert operation.state == State.COMPLETED
    assert instances.done("balanced") == 1
    met = {r["instance"] for r in instances.requests()["recent"] if r["method"] == "tools/call"}
    assert met == {"a", "b", "c"}


def test_one_round_asks_and_the_same_call_goes_out_again(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.asking("go", state="s1"), peer.finished())
    operation = scripted.finish(scripted.start(text="x"))

    first, second = scripted.peer.asked(peer.CALL)
    assert (first.tool_name, first.arguments) == (second.tool_name, second.arguments)
    assert (first.input_responses, first.request_state) == (None, None)
    assert (second.input_responses, second.request_state) == ({"go": FORM_ACCEPTED}, "s1")
    assert first.request_id != second.request_id
    assert operation.payload.request_state is None


def test_answers_go_with_the_round_that_asked_and_no_other(scripted: ScriptedDesk) -> None:
    rounds = [peer.asking("go", state="s1"), peer.asking("go", state="s2"), peer.finished()]
    scripted.peer.will(peer.CALL, *rounds)
    operation = scripted.start()
    for response in (DECLINED, FORM_ACCEPTED):
        scripted.settle(operation)
        scripted.answer_all(operation, response)
    scripted.settle(operation)

    _, second, third = scripted.peer.asked(peer.CALL)
    assert (second.input_responses, second.request_state) == ({"go": DECLINED}, "s1")
    assert (third.input_responses, third.request_state) == ({"go": FORM_ACCEPTED}, "s2")


@pytest.mark.parametrize("state", [None, "", "x" * 100_000, "\ud800\x00\u202e", '{"a": "\\u0000"}'])
def test_the_state_goes_back_exactly_if_and_only_if_it_came(
    scripted: ScriptedDesk, state: str | None
) -> None:
    scripted.peer.will(peer.CALL, peer.asking("go", state=state), peer.finished())
    scripted.finish(scripted.start())

    assert scripted.peer.asked(peer.CALL)[1].request_state == state


@given(state=st.text(st.characters(), max_size=50))
@hypothesis_settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_state_survives_the_database(scripted: ScriptedDesk, state: str) -> None:
    scripted.peer.will(peer.CALL, peer.asking("go", state=state), peer.finished())
    scripted.finish(scripted.start())

    assert scripted.peer.asked(peer.CALL)[-1].request_state == state


def test_a_round_with_only_a_state_pauses_and_calls_again(scripted: ScriptedDesk) -> None:
    only = [peer.asking(state=f"s{n}") for n in range(5)]
    scripted.peer.will(peer.CALL, *only, peer.finished())
    operation = scripted.start()
    pauses = []
    for _ in only:
        scripted.look(operation)
        assert (operation.state, operation.due_at is not None) == (State.READY, True)
        pauses.append((operation.due_at - scripted.clock.now).total_seconds())  # type: ignore[operator]
    scripted.look(operation)

    assert operation.state == State.COMPLETED
    for n, pause in enumerate(pauses):
        assert 0.25 * 2**n <= pause <= 0.25 * 2**n * 1.1
    sent = [work.request_state for work in scripted.peer.asked(peer.CALL)]
    assert sent == [None, "s0", "s1", "s2", "s3", "s4"]
    assert all(work.input_responses is None for work in scripted.peer.asked(peer.CALL))


def test_states_without_end_are_stuck_after_twenty(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.asking(state="again"))
    operation = scripted.start()
    for _ in range(40):
        scripted.look(operation)

    assert (operation.state, operation.due_at) == (State.STUCK, None)
    assert len(scripted.peer.asked(peer.CALL)) == 21


def test_a_question_between_states_begins_the_count_anew(scripted: ScriptedDesk) -> None:
    only = [peer.asking(state="again")] * 15
    scripted.peer.will(peer.CALL, *only, peer.asking("go"), *only, peer.finished())
    operation = scripted.start()
    for _ in range(40):
        scripted.answer_all(operation)
        scripted.look(operation)

    assert operation.state == State.COMPLETED


def test_a_state_after_a_question_goes_out_without_its_answers(scripted: ScriptedDesk) -> None:
    rounds = [peer.asking("go", state="s1"), peer.asking(state="s2"), peer.finished()]
    scripted.peer.will(peer.CALL, *rounds)
    scripted.finish(scripted.start())

    last = scripted.peer.asked(peer.CALL)[-1]
    assert (last.input_responses, last.request_state) == (None, "s2")


def test_a_round_that_asks_for_nothing_fails_with_a_reason(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, {"resultType": "input_required", "inputRequests": {}})
    operation = scripted.settle(scripted.start())

    assert operation.state == State.FAILED
    assert operation.explanation


def test_a_round_whose_answer_did_not_leave_is_sent_again_with_it(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.asking("go"), peer.Nothing(sent=False), peer.finished())
    operation = scripted.finish(scripted.start())

    assert operation.state == State.COMPLETED
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.times_sent) == (DeliveryState.OBSERVED, 2)


def test_a_round_whose_call_got_no_answer_is_unknown(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.asking("go"), peer.Nothing())
    operation = scripted.finish(scripted.start())

    assert operation.state == State.UNKNOWN
    assert Delivery.objects.get().state == DeliveryState.SENT


def test_a_task_after_the_round_drops_the_state(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.asking("go"), peer.handle())
    scripted.peer.will(peer.GET, peer.task())
    operation = scripted.start()
    scripted.settle(operation)
    scripted.answer_all(operation)
    scripted.drain()

    operation.refresh_from_db()
    assert (operation.state, operation.payload.request_state) == (State.WORKING, None)


def test_more_questions_than_fit_can_only_be_cancelled(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.asking(*(f"key-{n}" for n in range(60))))
    operation = scripted.settle(scripted.start())

    questions = scripted.questions(operation)
    assert len(questions) == 50
    assert all(question.problem for question in questions)
    assert scripted.cancel(operation).state == State.CANCELLED


@pytest.mark.parametrize("key", ["", "x" * 512, "with\x00nul", "\ud800", "ключ", "a" * 600])
def test_any_key_is_kept_and_comes_back(scripted: ScriptedDesk, key: str) -> None:
    scripted.peer.will(peer.CALL, peer.asking(key), peer.finished())
    operation = scripted.settle(scripted.start())
    (question,) = scripted.questions(operation)
    if question.problem:
        return
    scripted.answer_all(operation)
    scripted.settle(operation)

    assert scripted.peer.asked(peer.CALL)[1].input_responses == {key: FORM_ACCEPTED}


def test_the_same_task_id_on_two_servers_is_two_tasks(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    scripted.peer.will(peer.GET, peer.task())
    scripted.start()
    scripted.server = ServerFactory(team=scripted.server.team)
    scripted.start()
    scripted.drain()

    hashes = Operation.objects.values_list("task_hash", flat=True)
    assert len(hashes) == 2
    assert len(set(hashes)) == 1
