"""Cancel: a request beside the state; it comes true when nothing runs, or is told."""

import pytest

from tasks_monitor.engine.cancel import request_cancel
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.settle_task import MAX_CANCELS
from tasks_monitor.models import Delivery, DeliveryState, InputRequestState, Operation
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State
from tests.engine import peer
from tests.engine.desk import Desk, ScriptedDesk
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import OperationFactory

pytestmark = pytest.mark.django_db


def working(desk: ScriptedDesk, *polls: peer.Said) -> Operation:
    """An operation that follows a running task."""
    desk.peer.will(peer.CALL, peer.handle())
    desk.peer.will(peer.GET, *(polls or (peer.task(),)))
    desk.peer.will(peer.CANCEL, peer.ACK)
    operation = desk.start()
    desk.drain()
    operation.refresh_from_db()
    return operation


def test_what_was_not_sent_is_cancelled_here(scripted: ScriptedDesk) -> None:
    operation = scripted.cancel(scripted.start())

    assert (operation.state, operation.due_at) == (State.CANCELLED, None)
    scripted.drain()
    assert scripted.peer.sent == []


def test_between_two_rounds_nothing_runs_and_it_is_cancelled_here(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.asking("first", "second"))
    operation = scripted.start()
    scripted.drain()
    first, second = scripted.questions(operation)
    scripted.answer(first)

    scripted.cancel(operation)

    second.refresh_from_db()
    assert second.state == InputRequestState.CLOSED
    assert Delivery.objects.get().state == DeliveryState.NOT_NEEDED
    operation.refresh_from_db()
    assert operation.state == State.CANCELLED


def test_a_running_task_is_asked_to_stop_and_cancelled_when_it_says_so(
    scripted: ScriptedDesk,
) -> None:
    operation = working(scripted, peer.task(), peer.task("cancelled"))
    scripted.cancel(operation)
    scripted.drain()
    operation.refresh_from_db()
    assert (operation.state, len(scripted.peer.asked(peer.CANCEL))) == (State.WORKING, 1)
    assert operation.cancel_sent_at is not None

    scripted.settle(operation)

    assert operation.state == State.CANCELLED
    assert len(scripted.peer.asked(peer.CANCEL)) == 1


def test_a_task_that_completes_all_the_same_is_completed(scripted: ScriptedDesk) -> None:
    operation = working(scripted, peer.completed())
    scripted.cancel(operation)

    scripted.settle(operation)

    assert operation.state == State.COMPLETED
    assert operation.cancel_requested_at is not None


def test_asking_twice_changes_nothing(scripted: ScriptedDesk) -> None:
    operation = working(scripted)
    first = scripted.cancel(operation)
    scripted.clock.advance(5)

    assert scripted.cancel(operation).cancel_requested_at == first.cancel_requested_at
    assert scripted.events(operation).count("operation.cancel_requested") == 1


def test_a_cancellation_that_got_no_answer_is_sent_again_after_a_poll(
    scripted: ScriptedDesk,
) -> None:
    operation = working(scripted, peer.task())
    scripted.peer.will(peer.CANCEL, peer.Nothing(), peer.ACK)
    scripted.cancel(operation)
    for _ in range(3):
        scripted.look(operation)

    methods = [peer.method_of(work) for work in scripted.peer.sent]
    assert methods[:4] == [peer.CALL, peer.CANCEL, peer.GET, peer.CANCEL]
    assert operation.cancel_sent_at is not None


def test_a_cancellation_that_is_never_answered_is_sent_five_times_and_polls_go_on(
    scripted: ScriptedDesk,
) -> None:
    operation = working(scripted, *[peer.task()] * 20, peer.completed())
    scripted.peer.will(peer.CANCEL, peer.Nothing())
    scripted.cancel(operation)
    scripted.settle(operation, looks=60)

    assert operation.state == State.COMPLETED
    assert len(scripted.peer.asked(peer.CANCEL)) == MAX_CANCELS == 5
    assert scripted.events(operation).count("operation.cancel_unanswered") == 1


def test_a_refused_cancellation_asks_how_the_task_stands(scripted: ScriptedDesk) -> None:
    operation = working(scripted, peer.completed())
    scripted.peer.will(peer.CANCEL, peer.Error(-32602))
    scripted.cancel(operation)
    scripted.drain()
    operation.refresh_from_db()
    assert operation.state == State.WORKING, "a refusal proves nothing"

    scripted.settle(operation)

    assert operation.state == State.COMPLETED
    assert len(scripted.peer.asked(peer.CANCEL)) == 1


@pytest.mark.parametrize(
    ("said", "state"),
    [
        (peer.finished(), State.COMPLETED),
        (peer.Error(-32000), State.FAILED),
        (peer.asking("go"), State.CANCELLED),
        (peer.asking(state="only"), State.CANCELLED),
        (peer.Nothing(sent=False), State.CANCELLED),
        (peer.Nothing(), State.UNKNOWN),
    ],
)
def test_during_a_call_what_the_call_comes_to_decides(
    scripted: ScriptedDesk, said: peer.Said, state: State
) -> None:
    scripted.peer.will(peer.CALL, said)
    operation = scripted.begin(scripted.start())
    assert scripted.cancel(operation).state == State.CALLING

    scripted.arrive()

    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (state, None)
    assert len(scripted.peer.asked(peer.CALL)) == 1


def test_a_task_that_was_made_during_the_cancellation_is_asked_to_stop(
    scripted: ScriptedDesk,
) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    scripted.peer.will(peer.GET, peer.task("cancelled"))
    scripted.peer.will(peer.CANCEL, peer.ACK)
    operation = scripted.begin(scripted.start())
    scripted.cancel(operation)
    scripted.arrive()
    scripted.settle(operation)

    assert operation.state == State.CANCELLED
    assert len(scripted.peer.asked(peer.CANCEL)) == 1


def test_a_repeatable_call_without_an_answer_is_not_repeated_once_cancelled(
    scripted: ScriptedDesk,
) -> None:
    """It may have run: neither sent again, nor said to be cancelled."""
    scripted.peer.will(peer.CALL, peer.Nothing())
    operation = scripted.begin(scripted.start(repeatable=True))
    scripted.cancel(operation)
    scripted.arrive()

    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.UNKNOWN, None)


def test_a_repeatable_call_whose_worker_died_is_not_repeated_once_cancelled(
    scripted: ScriptedDesk,
) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.begin(scripted.start(repeatable=True))
    scripted.cancel(operation)
    scripted.clock.advance(24 * 3600)
    scripted.sweep()

    operation.refresh_from_db()
    assert operation.state == State.UNKNOWN


@pytest.mark.parametrize("state", sorted(TERMINAL | NEEDS_OPERATOR))
def test_what_has_ended_or_has_no_task_cannot_be_cancelled(
    scripted: ScriptedDesk, state: State
) -> None:
    operation = OperationFactory(server=scripted.server, state=state)

    with pytest.raises(Refused):
        scripted.cancel(operation)
    operation.refresh_from_db()
    assert operation.cancel_requested_at is None


def test_a_stuck_task_can_be_cancelled(scripted: ScriptedDesk) -> None:
    operation = OperationFactory(
        server=scripted.server, state=State.STUCK, task_id=peer.TASK_ID, due_at=None
    )
    scripted.peer.will(peer.CANCEL, peer.ACK)
    scripted.peer.will(peer.GET, peer.task("cancelled"))
    scripted.cancel(operation)

    assert scripted.settle(operation).state == State.CANCELLED


def test_a_task_that_is_cancelled_as_soon_as_it_was_adopted_is_followed_all_the_same(
    scripted: ScriptedDesk,
) -> None:
    operation = OperationFactory(
        server=scripted.server,
        state=State.WORKING,
        task_id=peer.TASK_ID,
        due_at=scripted.clock.now,
    )
    scripted.peer.will(peer.CANCEL, peer.ACK)
    scripted.peer.will(peer.GET, peer.task("cancelled"))
    scripted.cancel(operation)

    assert scripted.settle(operation).state == State.CANCELLED


def test_an_unknown_operation_does_not_exist(scripted: ScriptedDesk) -> None:
    with pytest.raises(Operation.DoesNotExist):
        request_cancel(
            "00000000-0000-0000-0000-000000000000",  # type: ignore[arg-type]
            actor=scripted.actor,
            now=scripted.clock.now,
        )


@pytest.mark.parametrize(
    ("tool", "state", "effects"),
    [
        ("cancel_honoured", State.CANCELLED, 0),
        ("cancel_raced", State.COMPLETED, 1),
        ("cancel_ignored", State.WORKING, 0),
    ],
)
def test_the_simulators_cancellations(desk: Desk, tool: str, state: State, effects: int) -> None:
    operation = desk.start(tool, duration_ms=600_000, nonce=tool)
    desk.drain()
    desk.cancel(operation)
    for _ in range(4):
        desk.look(operation)

    assert (operation.state, desk.simulator.done(tool)) == (state, effects)
    assert desk.simulator.side_effects()["cancellations"] == {tool: 1}


@pytest.mark.django_db(transaction=True)
def test_a_cancellation_and_the_last_answer_at_once_send_nothing_after_the_end(
    scripted: ScriptedDesk,
) -> None:
    scripted.peer.will(peer.CALL, peer.asking("go"), peer.finished())
    operation = scripted.start()
    scripted.drain()
    (question,) = scripted.questions(operation)
    with meeting_after("tasks_monitor.engine.answer.lock", "tasks_monitor.engine.cancel.lock"):
        side_by_side(lambda: scripted.answer(question), lambda: scripted.cancel(operation))
    scripted.drain()

    operation.refresh_from_db()
    assert operation.state == State.CANCELLED
    assert len(scripted.peer.asked(peer.CALL)) == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_cancellations_at_once_one_is_written(scripted: ScriptedDesk) -> None:
    operation = working(scripted)
    with meeting_after("tasks_monitor.engine.cancel.lock"):
        side_by_side(*[lambda: scripted.cancel(operation)] * 2)

    assert scripted.events(operation).count("operation.cancel_requested") == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_both_are_written(scripted: ScriptedDesk) -> None:
    operation = working(scripted)
    with locks_off(), meeting_after("tasks_monitor.engine.cancel.lock"):
        side_by_side(*[lambda: scripted.cancel(operation)] * 2)

    assert scripted.events(operation).count("operation.cancel_requested") == 2
