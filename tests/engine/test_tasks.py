"""Remote tasks: polled to their end, whatever is said on the way."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mcpdesk.audit.models import Event
from tasks_monitor.engine.drain import settle
from tasks_monitor.models import InputRequestState, Operation
from tasks_monitor.states import TERMINAL, State
from tests.engine import peer
from tests.engine.desk import LEASE_S, Desk, ScriptedDesk

pytestmark = pytest.mark.django_db


def following(desk: ScriptedDesk, *polls: peer.Said, **handle: Any) -> Operation:
    """An operation that follows a task, which says this at each poll."""
    desk.peer.will(peer.CALL, peer.handle(**handle))
    desk.peer.will(peer.GET, *polls)
    desk.peer.will(peer.UPDATE, peer.ACK)
    desk.peer.will(peer.CANCEL, peer.ACK)
    operation = desk.start()
    desk.drain()
    operation.refresh_from_db()
    return operation


@pytest.mark.parametrize(
    ("tool", "state", "is_error", "effects"),
    [
        ("run_task", State.COMPLETED, False, 1),
        ("task_at_once", State.COMPLETED, False, 1),
        ("task_tool_error", State.COMPLETED, True, 0),
        ("task_fails", State.FAILED, False, 0),
    ],
)
def test_the_simulators_tasks_end_as_they_should(
    desk: Desk, tool: str, state: State, is_error: bool, effects: int
) -> None:
    operation = desk.run(tool, duration_ms=0, nonce=tool)

    assert (operation.state, operation.is_error) == (state, is_error)
    assert desk.simulator.done(tool) == effects


@pytest.mark.parametrize(
    ("said", "state"),
    [
        (peer.completed(), State.COMPLETED),
        (peer.task("completed", result={"isError": True}), State.COMPLETED),
        (peer.task("completed"), State.COMPLETED),
        (peer.task("failed", error={"code": -32000, "message": "No"}), State.FAILED),
        (peer.task("failed"), State.FAILED),
        (peer.task("failed", error={"code": "x" * 500}), State.FAILED),
        (peer.task("failed", error={"code": 2**80}), State.FAILED),
        (peer.task("cancelled"), State.CANCELLED),
        (peer.waiting("go"), State.INPUT_REQUIRED),
        (peer.task("input_required"), State.INPUT_REQUIRED),
        (peer.task("pondering"), State.WORKING),
        (peer.task(), State.WORKING),
    ],
)
def test_each_status_makes_its_state(scripted: ScriptedDesk, said: peer.Said, state: State) -> None:
    operation = scripted.look(following(scripted, said))

    assert operation.state == state
    assert (operation.due_at is None) == (state in TERMINAL)


def test_a_result_is_written_once_and_whole(scripted: ScriptedDesk) -> None:
    result = {"content": [{"type": "text", "text": "a\u0000b \ud800"}], "more": [1.0, None]}
    operation = following(scripted, peer.task("completed", result=result))
    scripted.settle(operation)

    assert operation.payload.result == result
    assert scripted.moves(operation).count("Completed") == 1


def test_what_was_said_last_is_kept_with_its_notes(scripted: ScriptedDesk) -> None:
    operation = following(scripted, peer.task(statusMessage="Half done", ttlMs=-5))
    scripted.look(operation)

    assert operation.payload.status_message == "Half done"
    assert operation.payload.notes


def test_an_answer_about_another_task_changes_nothing(scripted: ScriptedDesk) -> None:
    operation = following(scripted, peer.completed(taskId="another"), peer.completed())
    scripted.look(operation)
    assert operation.state == State.WORKING

    assert scripted.settle(operation).state == State.COMPLETED


def test_not_found_once_is_looked_at_again(scripted: ScriptedDesk) -> None:
    operation = following(scripted, peer.Error(-32602), peer.task(), peer.Error(-32602))
    for _ in range(3):
        scripted.look(operation)
    assert (operation.state, operation.missing_polls) == (State.WORKING, 1)

    scripted.look(operation)

    assert (operation.state, operation.due_at) == (State.LOST, None)
    assert operation.task_id == peer.TASK_ID, "the handle is kept for an operator"


def test_the_second_look_waits_for_the_poll_interval(scripted: ScriptedDesk) -> None:
    operation = following(scripted, peer.Error(-32602), pollIntervalMs=7000)
    scripted.look(operation)

    assert operation.due_at is not None
    assert operation.due_at - scripted.clock.now >= timedelta(seconds=7)


def test_an_expired_task_of_the_simulator_is_lost(desk: Desk) -> None:
    operation = desk.start("misbehave_task", fault="expired", duration_ms=0, nonce="gone")
    for _ in range(4):
        desk.look(operation)

    assert operation.state == State.LOST


@pytest.mark.parametrize("said", [peer.Nothing(), peer.Error(-32000), peer.Error(-32000, 503)])
def test_a_poll_without_an_answer_is_made_again_later_and_later(
    scripted: ScriptedDesk, said: peer.Said
) -> None:
    operation = following(scripted, said)
    pauses = []
    for _ in range(12):
        scripted.look(operation)
        assert operation.due_at is not None
        pauses.append((operation.due_at - scripted.clock.now).total_seconds())
    assert pauses[0] >= 1
    assert pauses == sorted(pauses)
    assert pauses[-1] == 600
    assert operation.state == State.WORKING

    scripted.peer.will(peer.GET, peer.completed())
    assert scripted.settle(operation).state == State.COMPLETED


def _asked_and_forgotten(desk: ScriptedDesk, *, answers: bool, seconds: float) -> Operation:
    """A task of a minute that asks, and that the server does not know any more some time later."""
    operation = following(desk, peer.waiting("go", ttlMs=60_000), ttlMs=60_000)
    desk.peer.will(peer.UPDATE, peer.ACK)
    desk.look(operation)
    assert operation.state == State.INPUT_REQUIRED
    if answers:
        desk.answer_all(operation)
        desk.drain()
    desk.peer.will(peer.GET, peer.Error(-32602))
    desk.clock.advance(seconds)
    for _ in range(3):
        desk.look(operation)
    return operation


def test_a_task_that_is_forgotten_after_its_time_while_it_asked_has_expired(
    scripted: ScriptedDesk,
) -> None:
    operation = _asked_and_forgotten(scripted, answers=False, seconds=61)

    assert (operation.state, operation.due_at) == (State.EXPIRED, None)
    states = operation.input_requests.values_list("state", flat=True)
    assert list(states) == [InputRequestState.EXPIRED]


@pytest.mark.parametrize(("answers", "seconds"), [(True, 61), (False, 1)])
def test_a_task_that_may_have_gone_on_or_is_forgotten_too_early_is_lost(
    scripted: ScriptedDesk, answers: bool, seconds: float
) -> None:
    operation = _asked_and_forgotten(scripted, answers=answers, seconds=seconds)

    assert operation.state == State.LOST


def test_a_lifetime_that_is_over_ends_it_as_expired(scripted: ScriptedDesk) -> None:
    operation = following(scripted, peer.waiting("go", ttlMs=60_000), ttlMs=60_000)
    scripted.look(operation)
    assert operation.state == State.INPUT_REQUIRED
    (question,) = scripted.questions(operation)

    scripted.clock.advance(61)
    scripted.look(operation)

    question.refresh_from_db()
    assert (operation.state, question.state) == (State.EXPIRED, InputRequestState.EXPIRED)


@pytest.mark.parametrize("ahead", [timedelta(days=9999), timedelta(days=-9999)])
def test_a_date_that_lies_ends_nothing(scripted: ScriptedDesk, ahead: timedelta) -> None:
    created = scripted.clock.now.isoformat()
    clocks = {"createdAt": created, "ttlMs": 864_000_000}
    operation = following(scripted, peer.task(**clocks), **clocks)
    scripted.begin(operation)
    done = scripted.peer.held.pop()
    exchange = replace(done.step.exchange, server_date=scripted.clock.now + ahead)
    settle([replace(done, step=replace(done.step, exchange=exchange))], scripted.clock)
    operation.refresh_from_db()
    assert operation.state == State.WORKING


def test_a_lifetime_that_grows_with_each_poll_is_counted_from_the_beginning(
    scripted: ScriptedDesk,
) -> None:
    operation = following(scripted, peer.task(ttlMs=60_000), peer.task(ttlMs=120_000))
    scripted.look(operation)
    first = operation.expires_at
    scripted.look(operation)

    assert first is not None
    assert operation.expires_at == first + timedelta(seconds=60)


def test_a_result_after_the_lifetime_still_counts(scripted: ScriptedDesk) -> None:
    operation = following(scripted, peer.completed(ttlMs=1), ttlMs=1)
    scripted.clock.advance(3600)

    assert scripted.settle(operation).state == State.COMPLETED


@pytest.mark.parametrize("created", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday"])
@pytest.mark.parametrize("ttl", [2**63, -(2**63), 0.5, "soon", None])
def test_impossible_times_stop_nothing(scripted: ScriptedDesk, created: str, ttl: Any) -> None:
    operation = following(scripted, peer.task(createdAt=created, ttlMs=ttl))
    scripted.look(operation)

    assert operation.polls >= 1
    assert operation.state in {State.WORKING, State.EXPIRED}


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_terminal_is_final(scripted: ScriptedDesk, state: State) -> None:
    operation = following(scripted, peer.completed())
    scripted.begin(operation)
    Operation.objects.filter(pk=operation.pk).update(
        state=state, finished_at=scripted.clock.now, due_at=None
    )
    before = Operation.objects.filter(pk=operation.pk).values().get()
    scripted.arrive()

    assert Operation.objects.filter(pk=operation.pk).values().get() == before
    assert Event.objects.filter(operation_id=operation.pk).latest("id").kind == "task.late"


def test_a_terminal_answer_that_comes_twice_is_written_once(scripted: ScriptedDesk) -> None:
    operation = scripted.begin(following(scripted, peer.completed()))
    scripted.peer.held.append(scripted.peer.held[0])
    scripted.arrive()
    events = len(scripted.events(operation))
    scripted.arrive()

    operation.refresh_from_db()
    assert scripted.moves(operation).count("Completed") == 1
    assert scripted.events(operation)[events:] == ["task.late"]


def test_a_poll_that_comes_after_its_lease_says_no_more_than_an_end(
    scripted: ScriptedDesk,
) -> None:
    """Somebody else polls by now; only what is final is worth keeping."""
    operation = scripted.begin(following(scripted, peer.task(), peer.task("cancelled")))
    scripted.clock.advance(LEASE_S)
    scripted.begin(operation)
    token = Operation.objects.get(pk=operation.pk).lease_token
    scripted.arrive()
    operation.refresh_from_db()
    assert operation.lease_token == token, "the other one's lease stays"

    scripted.arrive()

    operation.refresh_from_db()
    assert operation.state == State.CANCELLED


def test_an_end_that_comes_after_its_lease_is_kept(scripted: ScriptedDesk) -> None:
    operation = scripted.begin(following(scripted, peer.completed(), peer.Error(-32602)))
    scripted.clock.advance(LEASE_S)
    scripted.begin(operation)
    scripted.arrive()

    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.COMPLETED, None)


@pytest.mark.parametrize("content", [{"inputRequests": {}}, {}, {"inputRequests": None}])
def test_waiting_for_input_and_asking_nothing_is_stuck_after_sixty_polls_and_ten_minutes(
    scripted: ScriptedDesk, content: dict[str, Any]
) -> None:
    asks = peer.task("input_required", pollIntervalMs=1000, **content)
    operation = following(scripted, asks, pollIntervalMs=1000)
    scripted.look(operation)
    Operation.objects.filter(pk=operation.pk).update(idle_input_polls=58)
    for _ in range(2):
        scripted.look(operation)
    assert operation.state == State.INPUT_REQUIRED, "sixty polls, but not ten minutes"

    scripted.clock.advance(600)
    scripted.look(operation)

    assert operation.state == State.STUCK
    scripted.peer.will(peer.GET, peer.completed())
    assert scripted.settle(operation).state == State.COMPLETED, "the server moved after all"


def test_ten_minutes_of_few_polls_are_not_stuck(scripted: ScriptedDesk) -> None:
    asks = peer.task("input_required", pollIntervalMs=60_000)
    operation = following(scripted, asks, pollIntervalMs=60_000)
    for _ in range(20):
        scripted.look(operation)

    assert operation.state == State.INPUT_REQUIRED


def test_a_new_question_begins_the_count_anew(scripted: ScriptedDesk) -> None:
    nothing = peer.task("input_required")
    operation = following(scripted, *[nothing] * 5, peer.waiting("go"), nothing)
    for _ in range(5):
        scripted.look(operation)
    assert operation.idle_input_polls == 5
    scripted.look(operation)

    assert operation.idle_input_polls == 0
