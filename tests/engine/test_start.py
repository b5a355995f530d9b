"""Start: the row first, once for each idempotency key."""

from typing import Any

import pytest

from mcpdesk.audit.log import DESK
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.start import Started, start
from tasks_monitor.models import Answerers, Era, Operation, Tool
from tasks_monitor.states import State
from tests.engine.desk import ScriptedDesk
from tests.engine.racing import meeting_after, side_by_side
from tests.factories import ServerFactory

pytestmark = pytest.mark.django_db


def started(desk: ScriptedDesk, **changes: Any) -> Started:
    request = {
        "team_id": desk.server.team_id,
        "server_id": desk.server.pk,
        "tool_name": "deploy",
        "arguments": {"project": "api"},
        "actor": desk.actor,
        "now": desk.clock.now,
    }
    return start(**{**request, **changes})


def test_an_operation_is_ready_due_at_once_and_in_the_log(scripted: ScriptedDesk) -> None:
    operation = started(scripted, reason="release 43").operation

    assert (operation.state, operation.due_at) == (State.READY, scripted.clock.now)
    assert operation.started_by == scripted.actor.user
    assert operation.payload.arguments == {"project": "api"}
    assert scripted.events(operation) == ["operation.started"]
    assert scripted.peer.sent == []


def test_what_nobody_started_asks_the_approvers(scripted: ScriptedDesk) -> None:
    assert started(scripted, actor=DESK).operation.questions_to == Answerers.APPROVERS
    assert started(scripted).operation.questions_to == Answerers.REQUESTER


def test_the_same_key_returns_the_same_operation(scripted: ScriptedDesk) -> None:
    first = started(scripted, idempotency_key="k")
    again = started(scripted, idempotency_key="k")

    assert (first.created, again.created) == (True, False)
    assert again.operation.pk == first.operation.pk
    assert scripted.events(first.operation) == ["operation.started"]


def test_the_same_key_returns_an_operation_that_has_ended_too(scripted: ScriptedDesk) -> None:
    first = started(scripted, idempotency_key="k").operation
    scripted.cancel(first)

    assert started(scripted, idempotency_key="k").operation.pk == first.pk


@pytest.mark.parametrize(
    "change",
    [
        {"tool_name": "destroy"},
        {"arguments": {"project": "web"}},
        {"arguments": {}},
    ],
)
def test_the_same_key_with_another_request_is_refused(
    scripted: ScriptedDesk, change: dict[str, Any]
) -> None:
    started(scripted, idempotency_key="k")

    with pytest.raises(Refused, match="different request"):
        started(scripted, idempotency_key="k", **change)
    assert Operation.objects.count() == 1


@pytest.mark.parametrize("other", [True, 1.0, "1", [1]])
def test_one_and_true_are_different_requests(scripted: ScriptedDesk, other: object) -> None:
    started(scripted, idempotency_key="k", arguments={"count": 1})

    with pytest.raises(Refused, match="different request"):
        started(scripted, idempotency_key="k", arguments={"count": other})


def test_the_order_of_names_makes_no_other_request(scripted: ScriptedDesk) -> None:
    started(scripted, idempotency_key="k", arguments={"a": 1, "b": 2})

    assert not started(scripted, idempotency_key="k", arguments={"b": 2, "a": 1}).created


def test_another_team_may_use_the_same_key(scripted: ScriptedDesk) -> None:
    started(scripted, idempotency_key="k")
    other = ServerFactory()

    assert started(scripted, idempotency_key="k", team_id=other.team_id, server_id=other.pk).created


def test_without_a_key_each_request_is_an_operation(scripted: ScriptedDesk) -> None:
    assert started(scripted).operation.pk != started(scripted).operation.pk


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"server_id": 0}, "no such server"),
        ({"tool_name": ""}, "1 to 256 characters"),
        ({"tool_name": "x" * 257}, "1 to 256 characters"),
        ({"tool_name": "x\x00"}, "1 to 256 characters"),
        ({"tool_name": "\ud800"}, "1 to 256 characters"),
        ({"arguments": []}, "JSON object"),
        ({"arguments": {"n": float("nan")}}, "not valid JSON"),
        ({"arguments": {"n": "\ud800"}}, "not valid JSON"),
        ({"arguments": {"n": "x" * 1024 * 1024}}, "larger than 1 MiB"),
        ({"reason": "x" * 501}, "at most 500"),
        ({"reason": "\x00"}, "at most 500"),
        ({"reason": "\ud800"}, "at most 500"),
        ({"idempotency_key": ""}, "1 to 200"),
        ({"idempotency_key": "x" * 201}, "1 to 200"),
        ({"idempotency_key": "\x00"}, "1 to 200"),
    ],
)
def test_a_request_that_cannot_be_kept_is_refused_and_nothing_written(
    scripted: ScriptedDesk, change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence):
        started(scripted, **change)
    assert not Operation.objects.exists()


def test_a_server_of_another_team_does_not_exist(scripted: ScriptedDesk) -> None:
    with pytest.raises(Refused, match="no such server"):
        started(scripted, server_id=ServerFactory().pk)


@pytest.mark.parametrize("era", [Era.LEGACY, Era.UNTESTED])
def test_a_server_that_cannot_be_called_is_refused(scripted: ScriptedDesk, era: Era) -> None:
    scripted.server.era = era
    scripted.server.save()

    with pytest.raises(Refused):
        started(scripted)


def test_a_tool_that_the_server_did_not_list_is_refused(scripted: ScriptedDesk) -> None:
    scripted.server.tools_fetched_at = scripted.clock.now
    scripted.server.save()
    Tool.objects.create(server=scripted.server, name="broken", definition={}, problem="Bad header")

    with pytest.raises(Refused, match="did not list"):
        started(scripted)
    with pytest.raises(Refused, match="Bad header"):
        started(scripted, tool_name="broken")


@pytest.mark.django_db(transaction=True)
def test_two_requests_with_one_key_at_once_make_one_operation(scripted: ScriptedDesk) -> None:
    with meeting_after("tasks_monitor.engine.start._earlier"):
        results = side_by_side(*[lambda: started(scripted, idempotency_key="k")] * 2)

    assert sorted(result.created for result in results) == [False, True]
    assert Operation.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_key_two_requests_at_once_make_two(scripted: ScriptedDesk) -> None:
    with meeting_after("tasks_monitor.engine.start._earlier"):
        side_by_side(*[lambda: started(scripted)] * 2)

    assert Operation.objects.count() == 2
