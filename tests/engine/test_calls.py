"""Calls: one outcome for each thing a server can answer."""

import pytest

from tasks_monitor.models import Attempt, AttemptOutcome
from tasks_monitor.states import State
from tests.engine.desk import Desk

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


def test_a_call_that_is_never_answered_is_unknown_and_not_sent_again(desk: Desk) -> None:
    operation = desk.start("slow_call", duration_ms=30_000, nonce="slow")
    desk.drain()
    operation.refresh_from_db()

    assert operation.state == State.UNKNOWN
    desk.clock.advance(3600)
    desk.drain()
    assert desk.requests() == 1


def test_a_repeatable_call_that_is_never_answered_is_sent_again_within_bounds(desk: Desk) -> None:
    operation = desk.start("misbehave", repeatable=True, fault="never-answers", nonce="rep")
    for _ in range(6):
        desk.look(operation)

    assert operation.state == State.UNKNOWN
    assert operation.attempts_made == 3


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
