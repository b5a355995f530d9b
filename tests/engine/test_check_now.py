"""Check now: the next look as early as the server allows, and no earlier."""

from collections.abc import Callable
from datetime import timedelta
from unittest import mock

import pytest
from django.db import IntegrityError

from tasks_monitor.engine.checknow import check_now
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Operation
from tasks_monitor.states import TERMINAL, State
from tests.engine import peer
from tests.engine.desk import ScriptedDesk
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import OperationFactory

pytestmark = pytest.mark.django_db

LOCKS = ("tasks_monitor.engine.checknow.lock", "tasks_monitor.engine.settle_task.lock")


def followed(desk: ScriptedDesk, **columns: object) -> Operation:
    """An operation whose task is looked at in an hour."""
    in_an_hour = desk.clock.now + timedelta(hours=1)
    defaults = {"state": State.WORKING, "task_id": peer.TASK_ID, "due_at": in_an_hour}
    return OperationFactory(server=desk.server, **{**defaults, **columns})


def checked(desk: ScriptedDesk, operation: Operation) -> Operation:
    return check_now(operation.pk, actor=desk.actor, now=desk.clock.now)


def test_a_check_is_due_at_once(scripted: ScriptedDesk) -> None:
    operation = checked(scripted, followed(scripted))

    assert operation.due_at == scripted.clock.now
    assert scripted.events(operation) == ["operation.check_requested"]


def test_a_check_is_never_sooner_than_the_server_asked(scripted: ScriptedDesk) -> None:
    allowed = scripted.clock.now + timedelta(seconds=40)
    operation = checked(scripted, followed(scripted, poll_not_before=allowed))

    assert operation.due_at == allowed


def test_a_check_never_makes_a_look_later(scripted: ScriptedDesk) -> None:
    due = scripted.clock.now - timedelta(seconds=1)

    assert checked(scripted, followed(scripted, due_at=due)).due_at == due


def test_asking_again_changes_nothing(scripted: ScriptedDesk) -> None:
    operation = followed(scripted)
    first = checked(scripted, operation)

    assert checked(scripted, operation).due_at == first.due_at


def test_a_lost_task_that_is_found_after_all_goes_on(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.GET, peer.task(), peer.completed())
    operation = followed(scripted, state=State.LOST, due_at=None, missing_polls=2)
    checked(scripted, operation)

    assert scripted.look(operation).state == State.WORKING
    assert scripted.settle(operation).state == State.COMPLETED


def test_a_lost_task_that_stays_missing_is_not_polled_on(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.GET, peer.Error(-32602))
    operation = followed(scripted, state=State.LOST, due_at=None, missing_polls=2)
    checked(scripted, operation)
    scripted.look(operation)

    assert (operation.state, operation.due_at) == (State.LOST, None)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_what_has_ended_is_not_checked(scripted: ScriptedDesk, state: State) -> None:
    operation = followed(scripted, state=state, due_at=None)

    with pytest.raises(Refused, match="has ended"):
        checked(scripted, operation)
    assert scripted.events(operation) == []


def test_without_a_task_there_is_nothing_to_check(scripted: ScriptedDesk) -> None:
    with pytest.raises(Refused, match="no task"):
        checked(scripted, scripted.start())


def test_a_call_that_waits_out_a_pause_of_the_desk_comes_at_once(scripted: ScriptedDesk) -> None:
    operation = followed(scripted, state=State.READY, task_id=None)

    assert checked(scripted, operation).due_at == scripted.clock.now
    assert scripted.events(operation) == ["operation.check_requested"]


def test_a_call_that_is_on_its_way_is_left_alone(scripted: ScriptedDesk) -> None:
    operation = followed(scripted, state=State.CALLING, task_id=None, due_at=None)

    with pytest.raises(Refused, match="on its way"):
        checked(scripted, operation)


@pytest.mark.django_db(transaction=True)
def test_a_check_and_the_end_at_once_leave_nothing_due(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.GET, peer.completed())
    operation = scripted.begin(followed(scripted, due_at=scripted.clock.now))
    with meeting_after(*LOCKS):
        side_by_side(lambda: checked(scripted, operation), scripted.arrive)

    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.COMPLETED, None)


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_a_check_makes_the_end_due_again(scripted: ScriptedDesk) -> None:
    """The database itself refuses that, and so the check fails."""
    scripted.peer.will(peer.GET, peer.completed())
    in_an_hour = scripted.clock.now + timedelta(hours=1)
    operation = scripted.begin(followed(scripted, due_at=scripted.clock.now))
    Operation.objects.filter(pk=operation.pk).update(due_at=in_an_hour)
    with locks_off(), meeting_after(*LOCKS):
        results = side_by_side(lambda: _late(lambda: checked(scripted, operation)), scripted.arrive)

    assert isinstance(results[0], IntegrityError)


def _late(check: Callable[[], Operation]) -> Operation:
    """A check that writes after the end was written."""
    with mock.patch.object(Operation, "save", autospec=True, side_effect=_slow_save):
        return check()


_save = Operation.save


def _slow_save(operation: Operation, *args: object, **kwargs: object) -> None:
    if kwargs.get("update_fields") == ["due_at"]:
        for _ in range(200):
            if Operation.objects.filter(pk=operation.pk, state=State.COMPLETED).exists():
                break
    _save(operation, *args, **kwargs)  # type: ignore[arg-type]
