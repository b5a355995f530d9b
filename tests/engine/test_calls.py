"""Calls: one outcome for each thing a server can answer."""

from typing import Any

import pytest

from mcpdesk.audit.models import Event
from tasks_monitor.models import Attempt, AttemptOutcome, Operation
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import LEASE_S, Desk, ScriptedDesk

pytestmark = pytest.mark.django_db


def test_a_call_that_returns_is_completed_with_its_result(desk: Desk) -> None:
    operation = desk.run("echo", text="hello", nonce="n1")

    assert operation.state == State.COMPLETED
    assert operation.is_error is False
    assert operation.payload.result["content"][0]["text"] == "hello"
    assert desk.simulator.done("n1") == 1


def test_a_tools_own_error_is_completed_with_a_flag(desk: Desk) -> None:
    operation = desk.run("tool_error")

    assert (operation.state, operation.is_error) == (State.COMPLETED, True)


def test_a_json_rpc_error_is_failed_with_its_code(desk: Desk) -> None:
    operation = desk.run("protocol_error", code=-32099)

    assert (operation.state, operation.error_code) == (State.FAILED, -32099)
    assert operation.payload.error["code"] == -32099


def test_the_attempt_is_recorded_with_its_own_request_id(desk: Desk) -> None:
    operation = desk.run("echo", text="x")

    attempt = Attempt.objects.get(operation=operation)
    assert (attempt.number, attempt.outcome) == (1, AttemptOutcome.ANSWERED)
    sent = desk.simulator.requests()["recent"]
    assert [r["id"] for r in sent if r["method"] == "tools/call"] == [attempt.request_id]


def test_arguments_that_go_into_headers_too_go_there(desk: Desk) -> None:
    """-32020 for a missing header: the list is read, the call sent again, and the list kept."""
    arguments = {"region": "eu-ö", "priority": 7, "dry_run": True}
    first = desk.run("mirror_parameters", **arguments)
    assert (first.state, first.is_error) == (State.COMPLETED, False)
    assert desk.requests("tools/list") >= 1
    lists = desk.requests("tools/list")

    second = desk.run("mirror_parameters", **arguments)

    assert (second.state, second.is_error) == (State.COMPLETED, False)
    assert desk.requests("tools/list") == lists, "the list of the first time was kept"


def test_a_call_that_is_never_answered_is_unknown_and_not_sent_again(desk: Desk) -> None:
    desk.server.call_timeout_s = 1
    desk.server.save()
    operation = desk.start("slow_call", duration_ms=30_000, nonce="slow")
    desk.drain()
    operation.refresh_from_db()

    assert operation.state == State.UNKNOWN
    desk.clock.advance(LEASE_S)
    desk.sweep()
    desk.drain()
    assert desk.requests() == 1


def test_a_repeatable_call_that_is_never_answered_is_sent_again_within_bounds(
    scripted: ScriptedDesk,
) -> None:
    scripted.peer.will(peer.CALL, peer.Nothing())
    operation = scripted.start(repeatable=True)
    for _ in range(6):
        scripted.look(operation)

    assert (operation.state, operation.attempts_made) == (State.UNKNOWN, 3)
    assert len({work.request_id for work in scripted.peer.asked(peer.CALL)}) == 3


def test_a_refused_connection_is_tried_again_when_the_server_is_back(desk: Desk) -> None:
    there = desk.server.url
    desk.server.url = "http://127.0.0.1:9/mcp"
    desk.server.save()
    operation = desk.start("echo", text="late", nonce="n2")
    desk.look(operation)
    assert operation.state == State.READY
    desk.server.refresh_from_db()
    assert desk.server.unreachable_since is not None

    desk.server.url = there
    desk.server.save()
    desk.settle(operation)

    assert operation.state == State.COMPLETED
    assert desk.simulator.done("n2") == 1
    desk.server.refresh_from_db()
    assert desk.server.unreachable_since is None


def test_what_did_not_leave_is_tried_again_with_growing_pauses(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.Nothing(sent=False))
    operation = scripted.start()
    pauses = []
    for _ in range(12):
        before = scripted.clock.now
        scripted.look(operation)
        assert operation.due_at is not None
        pauses.append((operation.due_at - max(before, scripted.clock.now)).total_seconds())

    assert operation.state == State.READY
    assert pauses[0] < pauses[3] < pauses[6]
    assert max(pauses) <= 660
    assert scripted.events(operation).count("call.not_sent") == 12
    outcomes = Attempt.objects.values_list("outcome", flat=True)
    assert set(outcomes) == {AttemptOutcome.NOT_SENT}


@pytest.mark.parametrize("sent", [True, False])
def test_an_address_that_no_request_may_go_to_fails_at_once(desk: Desk, sent: bool) -> None:
    desk.server.allow_private = False
    desk.server.save()
    operation = desk.run("echo")

    assert (operation.state, operation.due_at) == (State.FAILED, None)
    assert desk.requests() == 0


@pytest.mark.parametrize(
    ("said", "state", "handle"),
    [
        (peer.finished(), State.COMPLETED, False),
        (peer.finished(resultType=...), State.COMPLETED, False),
        (peer.finished(isError=True), State.COMPLETED, False),
        (peer.asking("go"), State.INPUT_REQUIRED, False),
        (peer.asking(state="only"), State.READY, False),
        (peer.asking(state=None), State.FAILED, False),
        (peer.handle(), State.WORKING, True),
        (peer.handle("pondering"), State.WORKING, True),
        (peer.handle(status=7), State.WORKING, True),
        (peer.handle(status=...), State.WORKING, True),
        (peer.handle(taskId=7), State.FAILED, False),
        (peer.handle(taskId=...), State.FAILED, False),
        (peer.handle(resultType="voucher"), State.WORKING, True),
        (peer.finished(resultType="voucher"), State.FAILED, False),
        (peer.finished(resultType=7), State.FAILED, False),
        (peer.Error(-32000), State.FAILED, False),
        (peer.Error(-32602), State.FAILED, False),
        (peer.Error(-32000, http_status=500), State.FAILED, False),
        (peer.Error(-32000, http_status=429), State.READY, False),
        (peer.Nothing(), State.UNKNOWN, False),
        (peer.Nothing(sent=False), State.READY, False),
    ],
)
def test_each_answer_makes_its_state(
    scripted: ScriptedDesk, said: Any, state: State, handle: bool
) -> None:
    if isinstance(said, dict):
        said = {name: value for name, value in said.items() if value is not ...}
    scripted.peer.will(peer.CALL, said)
    scripted.peer.will(peer.GET, peer.task())
    operation = scripted.begin(scripted.start())
    scripted.arrive()

    operation.refresh_from_db()
    assert (operation.state, operation.has_task) == (state, handle)
    assert operation.lease_token is None
    assert operation.explanation or state not in {State.FAILED, State.UNKNOWN}


def test_a_handle_whose_status_nobody_knows_is_polled(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle("pondering"))
    scripted.peer.will(peer.GET, peer.task("pondering"), peer.completed())
    operation = scripted.start()
    scripted.drain()

    assert scripted.settle(operation).state == State.COMPLETED


@pytest.mark.parametrize("ttl_ms", [0, -1])
def test_a_lifetime_of_nothing_is_polled_once(scripted: ScriptedDesk, ttl_ms: int) -> None:
    scripted.peer.will(peer.CALL, peer.handle(ttlMs=ttl_ms))
    scripted.peer.will(peer.GET, peer.task(ttlMs=ttl_ms))
    operation = scripted.settle(scripted.start())

    assert operation.state == State.EXPIRED
    assert len(scripted.peer.asked(peer.GET)) == 1
    assert operation.payload.notes


def test_a_task_that_was_over_at_once_is_asked_for_its_result(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle("completed"))
    scripted.peer.will(peer.GET, peer.completed())
    operation = scripted.settle(scripted.start())

    assert operation.state == State.COMPLETED
    assert operation.payload.result == {"content": [], "isError": False}


def test_the_answer_is_there_before_the_first_poll(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    operation = scripted.begin(scripted.start())
    scripted.arrive()

    operation.refresh_from_db()
    assert (operation.task_id, operation.poll_interval_ms) == (peer.TASK_ID, 1000)
    assert scripted.peer.asked(peer.GET) == []
    assert Attempt.objects.get().task_id == peer.TASK_ID


def lost_then(desk: ScriptedDesk, said: peer.Said) -> Operation:
    """An operation whose answer comes after its lease has ended."""
    desk.peer.will(peer.CALL, said)
    desk.peer.will(peer.GET, peer.task())
    operation = desk.begin(desk.start())
    desk.clock.advance(LEASE_S)
    desk.sweep()
    desk.arrive()
    operation.refresh_from_db()
    return operation


@pytest.mark.parametrize(
    ("said", "state"),
    [
        (peer.finished(), State.COMPLETED),
        (peer.asking("go"), State.INPUT_REQUIRED),
        (peer.handle(), State.WORKING),
        (peer.Error(-32000), State.FAILED),
        (peer.Nothing(), State.UNKNOWN),
        (peer.Nothing(sent=False), State.READY),
    ],
)
def test_a_late_answer_tells_what_became_of_an_unknown_call(
    scripted: ScriptedDesk, said: peer.Said, state: State
) -> None:
    assert lost_then(scripted, said).state == state


def test_an_answer_that_comes_twice_counts_once(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    operation = scripted.begin(scripted.start())
    scripted.peer.held.append(scripted.peer.held[0])
    scripted.arrive()
    before = Attempt.objects.values().get()
    scripted.arrive()

    assert Attempt.objects.values().get() == before
    assert scripted.events(operation).count("task.created") == 1
    assert scripted.events(operation)[-1] == "call.late"


def test_no_answer_after_an_answer_takes_nothing_back(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle(), peer.Nothing())
    operation = scripted.begin(scripted.start())
    first = scripted.peer.held[0]
    scripted.arrive()
    scripted.peer.held.append(type(first)(first.work, peer.step(first.work, peer.Nothing())))
    scripted.arrive()

    operation.refresh_from_db()
    assert operation.state == State.WORKING
    assert Attempt.objects.get().task_id == peer.TASK_ID


def test_an_answer_after_the_end_is_recorded_and_its_handle_kept(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    operation = scripted.begin(scripted.start())
    Operation.objects.filter(pk=operation.pk).update(
        state=State.FAILED, finished_at=scripted.clock.now, due_at=None
    )
    scripted.arrive()

    operation.refresh_from_db()
    assert (operation.state, operation.task_id) == (State.FAILED, None)
    assert Attempt.objects.get().task_id == peer.TASK_ID
    assert Event.objects.filter(kind="call.late").exists()


def test_a_tool_whose_headers_cannot_be_made_fails_before_it_is_sent(
    scripted: ScriptedDesk,
) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}}
    scripted.server.tools.create(name="echo", definition={"inputSchema": schema})
    operation = scripted.start()
    scripted.drain()

    operation.refresh_from_db()
    assert (operation.state, operation.attempts_made) == (State.FAILED, 0)
    assert scripted.peer.sent == []
