"""The product's own session against servers that other people wrote. Nothing is kept here."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from mcpdesk.mcp.outcomes import (
    Acknowledged,
    CallOutcome,
    Discovered,
    Finished,
    InputRequired,
    TaskCreated,
    TaskMissing,
)
from mcpdesk.mcp.tasks import Task, TaskStatus
from tasks_monitor.session import Session, ToolList, new_request_id
from tasks_monitor.transport import Endpoint, Transport
from tests.peers.processes import Peer
from tests.peers.sdk_peer import ACCOUNT_PAGE

pytestmark = [pytest.mark.peers, pytest.mark.asyncio]

LOOKS = 40


@pytest_asyncio.fixture
async def transport() -> AsyncIterator[Transport]:
    transport = Transport()
    yield transport
    await transport.aclose()


@pytest_asyncio.fixture
async def fastmcp(transport: Transport, fastmcp_peer: Peer) -> Session:
    return Session(transport, Endpoint("fastmcp", fastmcp_peer.url, allow_private=True))


@pytest_asyncio.fixture
async def sdk(transport: Transport, sdk_peer: Peer) -> Session:
    return Session(transport, Endpoint("sdk", sdk_peer.url, allow_private=True))


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


async def call(session: Session, tool: str, **arguments: Any) -> CallOutcome:
    return (await session.call_tool(new_request_id(), tool, arguments)).outcome


async def answer(
    session: Session, asked: CallOutcome, tool: str, *answers: dict[str, Any], **arguments: Any
) -> CallOutcome:
    """The same call again, with one answer for each question of the round."""
    assert isinstance(asked, InputRequired), asked
    keys = [question.key for question in asked.input_requests]
    step = await session.call_tool(
        new_request_id(),
        tool,
        arguments,
        input_responses=dict(zip(keys, answers, strict=True)),
        request_state=asked.request_state,
    )
    return step.outcome


async def follow(session: Session, task_id: str, *statuses: TaskStatus) -> Task:
    """Ask until the task is in one of these statuses, at the pace that it asks for."""
    for _ in range(LOOKS):
        task = (await session.get_task(new_request_id(), task_id)).outcome
        assert isinstance(task, Task), task
        if task.status in statuses:
            return task
        await asyncio.sleep((task.poll_interval_ms or 500) / 1000)
    raise AssertionError(f"the task never was {statuses}: {task}")


def _result(outcome: CallOutcome | Task) -> Any:
    assert isinstance(outcome, Finished | Task) and outcome.result is not None, outcome
    return outcome.result["structuredContent"]


async def _task_of(session: Session, outcome: CallOutcome) -> Task:
    assert isinstance(outcome, TaskCreated), outcome
    return await follow(session, outcome.task.task_id, TaskStatus.COMPLETED)


async def test_a_fastmcp_server_is_modern_and_takes_tasks(fastmcp: Session) -> None:
    found = (await fastmcp.discover()).outcome
    assert isinstance(found, Discovered)
    assert "io.modelcontextprotocol/tasks" in found.capabilities["extensions"]


async def test_every_tool_is_listed_and_none_is_left_out(fastmcp: Session, sdk: Session) -> None:
    theirs = {"greet", "refuse", "crunch", "reindex", "publish", "refund"}
    for session, names in (
        (fastmcp, theirs),
        (sdk, {"add", "refuse", "book_trip", "link_account"}),
    ):
        tools = (await session.list_tools()).outcome
        assert isinstance(tools, ToolList)
        assert ({tool.name for tool in tools.tools}, tools.rejected) == (names, ())


async def test_a_tool_that_is_no_task_answers_at_once(fastmcp: Session, sdk: Session) -> None:
    assert _result(await call(fastmcp, "greet", name="Ada")) == {"result": "Hello Ada"}
    assert _result(await call(sdk, "add", a=1, b=2)) == {"result": 3}


async def test_a_tools_own_error_is_a_result(fastmcp: Session, sdk: Session) -> None:
    for session in (fastmcp, sdk):
        outcome = await call(session, "refuse")
        assert isinstance(outcome, Finished) and outcome.is_error


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("crunch", {"rows": 4}, {"sum": 10}),
        ("reindex", {"index": "orders"}, {"result": "orders is indexed"}),
    ],
)
async def test_a_task_is_followed_to_its_result(
    fastmcp: Session, tool: str, arguments: dict[str, Any], result: dict[str, Any]
) -> None:
    assert _result(await _task_of(fastmcp, await call(fastmcp, tool, **arguments))) == result


async def test_a_task_takes_its_answers_one_by_one(fastmcp: Session) -> None:
    outcome = await call(fastmcp, "publish", project="api")
    assert isinstance(outcome, TaskCreated)
    id = outcome.task.task_id
    asked = await follow(fastmcp, id, TaskStatus.INPUT_REQUIRED)
    by_words = {q.params["message"]: q.key for q in asked.input_requests}
    first, second = by_words["Where does api go?"], by_words["Publish now?"]

    ack = (await fastmcp.update_task(new_request_id(), id, {first: accept(region="north")})).outcome
    assert isinstance(ack, Acknowledged)
    still = await follow(fastmcp, id, TaskStatus.INPUT_REQUIRED)
    assert [question.key for question in still.input_requests] == [second]

    await fastmcp.update_task(new_request_id(), id, {second: accept(now=True)})
    done = await follow(fastmcp, id, TaskStatus.COMPLETED)
    assert _result(done) == {"result": "api is in north, now: True"}


async def test_a_call_asks_before_it_becomes_a_task(fastmcp: Session) -> None:
    asked = await call(fastmcp, "refund", order="A-1")
    made = await answer(fastmcp, asked, "refund", accept(amount=12.5), order="A-1")
    assert _result(await _task_of(fastmcp, made)) == {"result": "A-1 is refunded"}


async def test_a_task_that_nobody_made_is_missing(fastmcp: Session) -> None:
    assert isinstance((await fastmcp.get_task(new_request_id(), "nope")).outcome, TaskMissing)
    assert isinstance((await fastmcp.cancel_task(new_request_id(), "nope")).outcome, TaskMissing)


async def test_several_rounds_end_in_a_result(sdk: Session) -> None:
    outcome = await call(sdk, "book_trip")
    for content in ({"city": "Oslo"}, {"nights": 3}, {"confirmed": True}):
        outcome = await answer(sdk, outcome, "book_trip", accept(**content))
    assert _result(outcome) == {"result": "3 nights in Oslo"}


async def test_a_form_and_a_link_are_asked_in_one_round(sdk: Session) -> None:
    asked = await call(sdk, "link_account", account="ada")
    assert isinstance(asked, InputRequired)
    modes = [(q.params["mode"], q.params.get("url")) for q in asked.input_requests]
    assert modes == [("form", None), ("url", ACCOUNT_PAGE)]
    opened = {"action": "accept"}
    done = await answer(sdk, asked, "link_account", accept(label="L"), opened, account="ada")
    assert _result(done) == {"result": "ada is linked as {'label': 'L'}"}
