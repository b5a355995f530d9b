"""Adopt: a task that some other client made is followed from here on."""

from typing import Any

import pytest

from tasks_monitor.engine.adopt import adopt
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.start import Started
from tasks_monitor.models import Operation
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import Desk, ScriptedDesk
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import ServerFactory

pytestmark = pytest.mark.django_db


def adopted(desk: ScriptedDesk, **changes: Any) -> Started:
    request = {
        "team_id": desk.server.team_id,
        "server_id": desk.server.pk,
        "task_id": peer.TASK_ID,
        "tool_name": "deploy",
        "actor": desk.actor,
        "now": desk.clock.now,
    }
    return adopt(**{**request, **changes})


def test_an_adopted_task_is_polled_to_its_end(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.GET, peer.task(), peer.completed())
    operation = adopted(scripted).operation
    assert (operation.state, operation.adopted) == (State.WORKING, True)

    scripted.settle(operation)

    assert operation.state == State.COMPLETED
    assert scripted.peer.asked(peer.CALL) == []
    assert scripted.events(operation)[0] == "operation.adopted"


def test_a_task_on_the_simulator_is_taken_over_from_another_client(desk: Desk) -> None:
    first = desk.start("run_task", duration_ms=0, nonce="taken")
    desk.drain()
    first.refresh_from_db()
    task_id = first.task_id
    Operation.objects.filter(pk=first.pk).update(task_hash="", due_at=None)

    second = adopted(desk, task_id=task_id).operation  # type: ignore[arg-type]
    desk.settle(second)

    assert second.state == State.COMPLETED
    assert desk.simulator.done("taken") == 1


def test_a_task_is_adopted_once(scripted: ScriptedDesk) -> None:
    first, again = adopted(scripted), adopted(scripted)

    assert (first.created, again.created) == (True, False)
    assert again.operation.pk == first.operation.pk


def test_a_task_of_our_own_is_not_adopted(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    own = scripted.start()
    scripted.drain()

    result = adopted(scripted)

    assert (result.created, result.operation.pk) == (False, own.pk)


def test_the_same_id_on_two_servers_is_two_tasks(scripted: ScriptedDesk) -> None:
    other = ServerFactory(team=scripted.server.team)

    assert adopted(scripted).created
    assert adopted(scripted, server_id=other.pk).created


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"task_id": ""}, "task id has 1 to"),
        ({"task_id": "x" * 2049}, "task id has 1 to"),
        ({"task_id": "\ud800"}, "not valid Unicode"),
        ({"task_id": "a\x00b"}, "not valid Unicode"),
        ({"tool_name": ""}, "Name the tool"),
        ({"tool_name": "\ud800"}, "Name the tool"),
        ({"server_id": 0}, "no such server"),
        ({"reason": "x" * 501}, "at most 500"),
    ],
)
def test_what_cannot_be_followed_is_refused(
    scripted: ScriptedDesk, change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence):
        adopted(scripted, **change)
    assert not Operation.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_who_adopt_at_once_get_one_operation(scripted: ScriptedDesk) -> None:
    with meeting_after("tasks_monitor.engine.adopt.followed"):
        results = side_by_side(*[lambda: adopted(scripted)] * 2)

    assert sorted(result.created for result in results) == [False, True]
    assert Operation.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_the_second_one_is_caught_by_the_database_only(
    scripted: ScriptedDesk,
) -> None:
    with locks_off(), meeting_after("tasks_monitor.engine.adopt.followed"):
        results = side_by_side(*[lambda: adopted(scripted)] * 2)

    assert "IntegrityError" in {type(result).__name__ for result in results}
