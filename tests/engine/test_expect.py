"""When an end is expected: learned from what ended well, or set; people's time does not count."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.audit.models import Event
from tasks_monitor.engine import expect
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.reconcile import Choice, reconcile
from tasks_monitor.models import Expectation, HistoryEntry, Operation, Server
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import ScriptedDesk
from tests.factories import NOW, OperationFactory, ServerFactory, TeamFactory

pytestmark = pytest.mark.django_db


def took(server: Server, *server_ms: int, **values: Any) -> None:
    """Calls of the tool that ended, each after the server had it for so long (ms)."""
    values = {"state": State.COMPLETED, "is_error": False, "took_ms": 1, **values}
    for number, ms in enumerate(server_ms):
        operation = OperationFactory(server=server, tool_name="echo")
        at = NOW + timedelta(seconds=number)
        HistoryEntry.objects.filter(pk=operation.pk).update(server_ms=ms, finished_at=at, **values)


def learned(server: Server) -> Expectation:
    expect.learn(server.pk, "echo", NOW)
    return Expectation.objects.get(server=server, tool_name="echo")


def limited(desk: ScriptedDesk, limit_s: int = 60) -> None:
    Expectation.objects.create(server=desk.server, tool_name="echo", limit_s=limit_s)


def test_what_is_usual_is_the_95th_percentile_of_what_ended_well() -> None:
    server = ServerFactory()
    took(server, *range(1000, 101_000, 1000))
    took(server, 10**9, is_error=True)
    took(server, 10**9, state=State.FAILED)
    took(ServerFactory(team=server.team), *[10**9] * 30)
    found = learned(server)
    assert (found.usual_ms, found.samples, found.learned_at) == (95_050, 100, NOW)


def test_only_the_last_calls_count() -> None:
    server = ServerFactory()
    took(server, *[10**9] * 5, *[1000] * expect.LAST)
    found = learned(server)
    assert (found.usual_ms, found.samples) == (1000, expect.LAST)


def test_learning_again_leaves_the_limit_alone() -> None:
    server = ServerFactory()
    Expectation.objects.create(server=server, tool_name="echo", limit_s=7)
    took(server, *[1000] * 30)
    assert learned(server).limit_s == 7


@given(usual_ms=st.integers(0, 10**10), samples=st.integers(0, 500))
def test_there_is_always_room_beyond_what_is_usual(usual_ms: int, samples: int) -> None:
    room = expect.room_for(Expectation(usual_ms=usual_ms, samples=samples))
    assert (room is None) == (samples < expect.ENOUGH)
    if room is not None:
        assert room >= timedelta(milliseconds=usual_ms) + expect.AT_LEAST
        assert room >= timedelta(milliseconds=usual_ms) * expect.ROOM


def test_a_limit_goes_before_what_was_learned() -> None:
    found = Expectation(usual_ms=1000, samples=100, limit_s=5)
    assert expect.room_for(found) == timedelta(seconds=5)


def test_a_call_of_a_tool_that_nobody_knows_is_not_expected_at_any_time(
    scripted: ScriptedDesk,
) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    assert scripted.look(scripted.start()).expected_by is None


def test_the_time_begins_when_the_call_starts(scripted: ScriptedDesk) -> None:
    limited(scripted)
    scripted.peer.will(peer.CALL, peer.handle())
    operation = scripted.start()
    assert operation.expected_by is None
    scripted.clock.advance(3600)
    called_at = scripted.clock.now
    assert scripted.look(operation).expected_by == called_at + timedelta(seconds=60)


def test_polls_leave_it_as_it_is(scripted: ScriptedDesk) -> None:
    limited(scripted)
    scripted.peer.will(peer.CALL, peer.handle())
    scripted.peer.will(peer.GET, peer.task())
    operation = scripted.look(scripted.start())
    expected = operation.expected_by
    assert scripted.look(operation).expected_by == expected


@pytest.mark.parametrize("by_task", [True, False])
def test_while_people_are_asked_the_clock_stands_still(
    scripted: ScriptedDesk, by_task: bool
) -> None:
    limited(scripted)
    if by_task:
        scripted.peer.will(peer.CALL, peer.handle())
        scripted.peer.will(peer.GET, peer.waiting("go"), peer.task())
        scripted.peer.will(peer.UPDATE, peer.ACK)
    else:
        scripted.peer.will(peer.CALL, peer.asking("go"), peer.handle())
        scripted.peer.will(peer.GET, peer.task())
    operation = scripted.settle(scripted.start())
    assert operation.state == State.INPUT_REQUIRED
    assert operation.expected_by is not None
    expected, asked_at = operation.expected_by, scripted.clock.now

    scripted.clock.advance(7200)
    scripted.answer_all(operation)
    while operation.state != State.WORKING:
        scripted.look(operation)
    assert operation.expected_by == expected + (scripted.clock.now - asked_at)


def test_a_call_that_is_sent_again_has_all_its_time(scripted: ScriptedDesk) -> None:
    limited(scripted)
    scripted.peer.will(peer.CALL, peer.Nothing(), peer.handle())
    operation = scripted.look(scripted.start())
    assert operation.state == State.UNKNOWN
    scripted.clock.advance(7200)
    reconcile(
        operation.pk,
        choice=Choice.SEND_AGAIN,
        reason="looked",
        actor=scripted.actor,
        now=scripted.clock.now,
    )
    sent_at = scripted.clock.now
    assert scripted.look(operation).expected_by == sent_at + timedelta(seconds=60)


def tool(desk: ScriptedDesk) -> Server:
    desk.server.tools.create(name="echo", definition={})
    return desk.server


def set_limit(desk: ScriptedDesk, limit_s: int | None, name: str = "echo") -> None:
    actor, now = desk.actor, desk.clock.now
    expect.set_limit(desk.server.pk, name, limit_s, actor=actor, now=now)


def test_a_limit_is_set_and_taken_away_and_each_is_one_event(scripted: ScriptedDesk) -> None:
    tool(scripted)
    for limit in (90, 90, None):
        set_limit(scripted, limit)
    events = Event.objects.filter(kind="server.limit_set").order_by("id")
    assert [event.data["limit"] for event in events] == ["90 s", "none"]
    assert Expectation.objects.get().limit_s is None


@pytest.mark.parametrize("limit", [0, -1, expect.MAX_LIMIT_S + 1])
def test_a_limit_out_of_bounds_is_refused(scripted: ScriptedDesk, limit: int) -> None:
    tool(scripted)
    with pytest.raises(Refused):
        set_limit(scripted, limit)
    assert not Expectation.objects.exists()


def test_a_limit_for_a_tool_that_is_not_there_is_refused(scripted: ScriptedDesk) -> None:
    with pytest.raises(Refused):
        set_limit(scripted, 5, "unheard")
    assert not Expectation.objects.exists()


def test_an_operation_of_another_team_teaches_nothing_here() -> None:
    server = ServerFactory()
    took(ServerFactory(team=TeamFactory()), *[10**9] * 30)
    assert learned(server).samples == 0
    assert Operation.objects.exists()
