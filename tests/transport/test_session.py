"""Conversations of several requests: versions, pages, headers that the server misses."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpdesk.mcp.headers import HeaderParam
from mcpdesk.mcp.limits import MAX_TOOL_PAGES, MAX_TOOLS
from mcpdesk.mcp.outcomes import (
    Acknowledged,
    Discovered,
    Finished,
    NoAnswer,
    Rejected,
    UnsupportedVersion,
)
from mcpdesk.mcp.tasks import Task
from tasks_monitor.session import Session, ToolList, new_request_id
from tasks_monitor.transport import Endpoint, Transport
from tests.mcp.wire import TASK_ID, task
from tests.transport.server import RawServer, Received, error_of, http, result_of

pytestmark = pytest.mark.asyncio

REGION = {"type": "string", "x-mcp-header": "Region"}
PLAN = (HeaderParam("Mcp-Param-Region", ("region",)),)


@asynccontextmanager
async def session(answer: Any, timeout_s: float = 30.0) -> AsyncIterator[tuple[Session, RawServer]]:
    transport = Transport()
    try:
        async with RawServer(answer) as server:
            endpoint = Endpoint("s", server.url, timeout_s=timeout_s, allow_private=True)
            yield Session(transport, endpoint), server
    finally:
        await transport.aclose()


def _tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def _page(received: Received, *names: str, **more: Any) -> bytes:
    tools = [_tool(name) for name in names]
    return result_of(received, **{"resultType": "complete", "tools": tools} | more)


async def _list(answer: Callable[[Received], bytes]) -> ToolList:
    async with session(answer) as (desk, _):
        found = (await desk.list_tools()).outcome
    assert isinstance(found, ToolList), found
    return found


# versions


def _refuse_version(received: Received, *supported: str) -> bytes:
    return error_of(received, -32022, {"supported": list(supported)})


async def test_a_refused_version_is_tried_again_where_the_server_offers_one_we_speak() -> None:
    def answer(received: Received) -> bytes:
        if len(server.requests) == 1:
            return _refuse_version(received, "2025-11-25", "2026-07-28")
        return result_of(received, resultType="complete", supportedVersions=["2026-07-28"])

    async with session(answer) as (desk, server):
        found = (await desk.discover()).outcome
    assert isinstance(found, Discovered)
    first, second = (received.message["id"] for received in server.requests)
    assert first != second


async def test_a_version_that_is_refused_again_is_not_tried_for_ever() -> None:
    def answer(received: Received) -> bytes:
        return _refuse_version(received, "2026-07-28")

    async with session(answer) as (desk, server):
        assert (await desk.discover()).outcome == UnsupportedVersion(("2026-07-28",))
    assert len(server.requests) == 2


async def test_a_version_nobody_here_speaks_is_told() -> None:
    def answer(received: Received) -> bytes:
        return _refuse_version(received, "2031-01-01")

    async with session(answer) as (desk, server):
        assert (await desk.discover()).outcome == UnsupportedVersion(("2031-01-01",))
    assert len(server.requests) == 1


# pages


async def test_all_pages_make_one_list_and_an_empty_cursor_goes_on() -> None:
    def answer(received: Received) -> bytes:
        cursor = received.message["params"].get("cursor")
        if cursor is None:
            return _page(received, "a", nextCursor="")
        if cursor == "":
            return _page(received, "b", nextCursor="2")
        return _page(received, "c")

    found = await _list(answer)
    assert [tool.name for tool in found.tools] == ["a", "b", "c"]
    assert found.problem is None


async def test_a_cursor_that_comes_again_ends_the_list_and_keeps_it() -> None:
    def answer(received: Received) -> bytes:
        return _page(received, received.message["params"].get("cursor", "first"), nextCursor="x")

    found = await _list(answer)
    assert [tool.name for tool in found.tools] == ["first", "x"]
    assert found.problem


async def test_pages_without_end_are_read_up_to_a_limit() -> None:
    def answer(received: Received) -> bytes:
        number = int(received.message["params"].get("cursor", "0"))
        return _page(received, f"tool{number}", nextCursor=str(number + 1))

    found = await _list(answer)
    assert len(found.tools) == MAX_TOOL_PAGES
    assert found.problem


async def test_all_pages_together_take_no_longer_than_one_request_may() -> None:
    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        number = int(received.message["params"].get("cursor", "0"))
        writer.write(_page(received, f"tool{number}", nextCursor=str(number + 1)))

    async with session(answer, timeout_s=1.0) as (desk, server):
        found = (await desk.list_tools()).outcome
    assert isinstance(found, ToolList)
    assert found.problem
    assert 1 <= len(found.tools) <= 5
    assert len(server.requests) <= 6


async def test_bad_tools_count_towards_the_limit() -> None:
    def answer(received: Received) -> bytes:
        return result_of(received, tools=[0] * 3000, nextCursor=str(len(received.body)) + "x" * 9)

    found = await _list(answer)
    assert found.problem
    assert len(found.rejected) <= 2 * MAX_TOOLS


async def test_pages_that_grow_too_big_together_end_the_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is big need not be a tool: all that a page holds counts."""
    monkeypatch.setattr("tasks_monitor.session.MAX_TOOL_LIST_CHARS", 3 * 1024**2)
    pages = 0

    def answer(received: Received) -> bytes:
        nonlocal pages
        pages += 1
        return _page(received, f"t{pages}", nextCursor=str(pages), _meta={"x": "x" * 1024**2})

    found = await _list(answer)
    assert found.problem == "The server's list is bigger than 3 MiB; the rest was not read."
    assert [tool.name for tool in found.tools] == ["t1", "t2", "t3"]


async def test_a_big_last_page_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks_monitor.session.MAX_TOOL_LIST_CHARS", 100)
    found = await _list(lambda received: _page(received, "a", _meta={"x": "x" * 1000}))
    assert (found.problem, len(found.tools)) == (None, 1)


async def test_a_page_that_fails_keeps_the_pages_before() -> None:
    def answer(received: Received) -> bytes:
        if "cursor" in received.message["params"]:
            return http(b"", status="500 Broken", kind="text/html")
        return _page(received, "a", nextCursor="1")

    found = await _list(answer)
    assert [tool.name for tool in found.tools] == ["a"]
    assert found.problem


async def test_of_two_tools_with_one_name_the_second_is_left_out() -> None:
    def answer(received: Received) -> bytes:
        return _page(received, "a", "b", "a")

    found = await _list(answer)
    assert [tool.name for tool in found.tools] == ["a", "b"]
    assert [tool.name for tool in found.rejected] == ["a"]


async def test_a_list_that_is_refused_at_once_is_no_list() -> None:
    def answer(received: Received) -> bytes:
        return error_of(received, -32601)

    async with session(answer) as (desk, _):
        assert isinstance((await desk.list_tools()).outcome, Rejected)


# headers that the server misses


class _Annotated:
    """A server whose tool wants its region in a header, which the first list did not say."""

    def __init__(self, *, listed: bool = True) -> None:
        self.listed = listed
        self.ran = 0

    def __call__(self, received: Received) -> bytes:
        if received.message["method"] == "tools/list":
            schema = {"region": REGION} if self.listed else {}
            return result_of(received, resultType="complete", tools=[_tool("deploy", **schema)])
        if received.headers.get("mcp-param-region") != "eu":
            return error_of(received, -32020)
        self.ran += 1
        return result_of(received, resultType="complete", content=[])


async def test_a_call_that_misses_a_header_is_sent_again_with_a_fresh_list() -> None:
    answer = _Annotated()
    async with session(answer) as (desk, server):
        step = await desk.call_tool(5, "deploy", {"region": "eu"})
    assert isinstance(step.outcome, Finished)
    assert answer.ran == 1
    assert step.tools is not None
    assert step.tools.tools[0].header_plan == PLAN
    methods = [received.message["method"] for received in server.requests]
    assert methods == ["tools/call", "tools/list", "tools/call"]
    ids = [received.message["id"] for received in server.requests]
    assert ids[0] == 5
    assert len(set(ids)) == 3


async def test_a_call_is_not_sent_again_after_a_list_that_took_too_long() -> None:
    """By then its lease would be over, and somebody else might have sent it."""

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.message["method"] == "tools/call":
            writer.write(error_of(received, -32020))
            return
        await asyncio.sleep(0.7)
        writer.write(result_of(received, tools=[_tool("deploy", region=REGION)]))

    async with session(answer, timeout_s=1.0) as (desk, server):
        step = await desk.call_tool(1, "deploy", {"region": "eu"})
    assert isinstance(step.outcome, Rejected)
    assert step.tools is not None
    sent = [received.message["method"] for received in server.requests]
    assert sent == ["tools/call", "tools/list"]


async def test_a_call_is_not_sent_again_where_the_fresh_list_says_nothing_new() -> None:
    answer = _Annotated(listed=False)
    async with session(answer) as (desk, server):
        step = await desk.call_tool(5, "deploy", {"region": "eu"})
    assert isinstance(step.outcome, Rejected)
    assert [received.message["method"] for received in server.requests] == [
        "tools/call",
        "tools/list",
    ]


async def test_a_call_with_the_right_headers_is_sent_once() -> None:
    answer = _Annotated()
    async with session(answer) as (desk, server):
        step = await desk.call_tool(5, "deploy", {"region": "eu"}, PLAN)
    assert isinstance(step.outcome, Finished)
    assert len(server.requests) == 1


# what goes through


async def test_tasks_are_asked_answered_and_cancelled() -> None:
    def answer(received: Received) -> bytes:
        if received.message["method"] == "tasks/get":
            return result_of(received, **task())
        return result_of(received, resultType="complete")

    async with session(answer) as (desk, server):
        assert isinstance((await desk.get_task(1, TASK_ID)).outcome, Task)
        answers = {"a": {"action": "decline"}}
        assert (await desk.update_task(2, TASK_ID, answers)).outcome == Acknowledged()
        assert (await desk.cancel_task(3, TASK_ID)).outcome == Acknowledged()
    assert [received.message["id"] for received in server.requests] == [1, 2, 3]
    assert server.requests[1].message["params"]["inputResponses"] == answers


async def test_a_failure_of_the_transport_is_no_answer_and_says_whether_it_was_sent() -> None:
    async with session(lambda received: b"") as (desk, _):
        pass
    step = await desk.call_tool(1, "x", {})
    assert isinstance(step.outcome, NoAnswer)
    assert (step.outcome.reason, step.outcome.sent) == ("refused", False)
    assert step.exchange.failure is not None


@pytest.mark.parametrize("arguments", [{"n": float("nan")}, {"region": "\ud800"}])
async def test_what_cannot_be_sent_is_not_sent(arguments: dict[str, Any]) -> None:
    async with session(lambda received: b"") as (desk, server):
        step = await desk.call_tool(1, "x", arguments, PLAN)
    assert isinstance(step.outcome, NoAnswer)
    assert (step.outcome.reason, step.outcome.sent) == ("bad_request", False)
    assert server.requests == []


async def test_new_ids_are_exact_in_a_double_and_differ() -> None:
    ids = {new_request_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(0 < id <= 2**53 - 1 for id in ids)
