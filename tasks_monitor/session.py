"""One conversation with one server: requests, versions, pages. Used by engine, web and commands."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from mcpdesk.http.client import FailureKind
from mcpdesk.mcp import requests
from mcpdesk.mcp.headers import HeaderPlan
from mcpdesk.mcp.limits import MAX_TOOL_LIST_CHARS, MAX_TOOL_PAGES, MAX_TOOLS
from mcpdesk.mcp.outcomes import (
    HEADER_MISMATCH,
    AckOutcome,
    CallOutcome,
    DiscoverOutcome,
    NoAnswer,
    Rejected,
    TaskOutcome,
    ToolsOutcome,
    ToolsPage,
    offered_versions,
    read_ack,
    read_call,
    read_discover,
    read_task,
    read_tools_page,
)
from mcpdesk.mcp.replies import Reply
from mcpdesk.mcp.requests import MODERN_VERSIONS, Request
from mcpdesk.mcp.tools import RejectedTool, Tool
from tasks_monitor.transport import Endpoint, Exchange, Transport, failed

OutcomeT = TypeVar("OutcomeT")


@dataclass(frozen=True, slots=True)
class ToolList:
    """All pages of `tools/list`. `problem` says in a sentence why it is not complete."""

    tools: tuple[Tool, ...]
    rejected: tuple[RejectedTool, ...]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Step(Generic[OutcomeT]):
    """One exchange and what it means.

    `tools` is set where the list had to be read again on the way: keep it, it is newer.
    """

    outcome: OutcomeT
    exchange: Exchange
    tools: ToolList | None = None


class _Turn:
    """The time that one verb of a session may take, however many requests it makes.

    The engine's lease covers one timeout: what went on for longer would be sent while others take
    the operation for lost.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._clock = asyncio.get_running_loop().time
        self._ends_at = self._clock() + timeout_s

    def left_s(self) -> float:
        return self._ends_at - self._clock()

    @property
    def is_late(self) -> bool:
        """Too late to begin what takes a request of its own."""
        return self.left_s() < self._timeout_s / 2


def new_request_id() -> int:
    """An id that no other worker uses at the same time; exact in a double, as JavaScript needs."""
    return secrets.randbits(52) + 1


class Session:
    """Speaks to one endpoint. Keeps nothing but the version agreed on.

    Each verb takes at most the endpoint's timeout, whatever it needs to ask for on the way.

    `version` is the revision to begin with. `traceparent` of a verb is the W3C trace context that
    its requests belong to (SEP-414); empty: none.
    """

    def __init__(
        self,
        transport: Transport,
        endpoint: Endpoint,
        *,
        version: str = requests.LATEST_VERSION,
    ) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self.version = version

    async def discover(self) -> Step[DiscoverOutcome]:
        """`server/discover`: era, versions, capabilities."""
        return await self._step(self._turn(), requests.discover, read_discover, new_request_id())

    async def list_tools(self) -> Step[ToolList | Rejected | NoAnswer]:
        """`tools/list`, all pages. A page that fails ends the list with a `problem`.

        A cursor that comes again, or pages without end, do so too: what was read is kept.
        """
        return await self._list_tools(self._turn())

    async def _list_tools(self, turn: _Turn) -> Step[ToolList | Rejected | NoAnswer]:
        pages: list[ToolsPage] = []
        seen: set[str | None] = {None}
        cursor: str | None = None
        while True:
            step = await self._tools_page(turn, cursor)
            if not isinstance(step.outcome, ToolsPage):
                return _ended_early(pages, step.outcome, step.exchange)
            pages.append(step.outcome)
            cursor = step.outcome.next_cursor
            problem = _why_stop(pages, cursor in seen)
            if cursor is None or problem:
                return Step(_joined(pages, problem), step.exchange)
            seen.add(cursor)

    async def call_tool(
        self,
        request_id: int,
        name: str,
        arguments: Mapping[str, Any],
        header_plan: HeaderPlan = (),
        input_responses: Mapping[str, Any] | None = None,
        request_state: str | None = None,
        *,
        traceparent: str = "",
    ) -> Step[CallOutcome]:
        """`tools/call`. Where the server misses a header for an argument (-32020), the list of
        tools is read again and the call sent once more under a new id: the first one did nothing.
        Not where that took so long that little time is left for the call.
        """
        turn = self._turn()

        async def call(id: int, plan: HeaderPlan) -> Step[CallOutcome]:
            return await self._step(
                turn,
                requests.call_tool,
                read_call,
                id,
                name,
                arguments,
                header_plan=plan,
                input_responses=input_responses,
                request_state=request_state,
                traceparent=traceparent or None,
            )

        step = await call(request_id, header_plan)
        if not isinstance(step.outcome, Rejected) or step.outcome.code != HEADER_MISMATCH:
            return step
        tools = (await self._list_tools(turn)).outcome
        if not isinstance(tools, ToolList):
            return step
        fresh = next((tool.header_plan for tool in tools.tools if tool.name == name), header_plan)
        if fresh != header_plan and not turn.is_late:
            step = await call(new_request_id(), fresh)
        return replace(step, tools=tools)

    async def get_task(
        self, request_id: int, task_id: str, *, traceparent: str = ""
    ) -> Step[TaskOutcome]:
        """`tasks/get`."""

        def read(reply: Reply) -> TaskOutcome:
            return read_task(reply, task_id)

        traced = traceparent or None
        return await self._step(
            self._turn(), requests.get_task, read, request_id, task_id, traceparent=traced
        )

    async def update_task(
        self,
        request_id: int,
        task_id: str,
        input_responses: Mapping[str, Any],
        *,
        traceparent: str = "",
    ) -> Step[AckOutcome]:
        """`tasks/update` with answers to some or all outstanding input requests."""
        return await self._step(
            self._turn(),
            requests.update_task,
            read_ack,
            request_id,
            task_id,
            input_responses,
            traceparent=traceparent or None,
        )

    async def cancel_task(
        self, request_id: int, task_id: str, *, traceparent: str = ""
    ) -> Step[AckOutcome]:
        """`tasks/cancel`: a request to stop, no more."""
        traced = traceparent or None
        return await self._step(
            self._turn(), requests.cancel_task, read_ack, request_id, task_id, traceparent=traced
        )

    async def _tools_page(self, turn: _Turn, cursor: str | None) -> Step[ToolsOutcome]:
        return await self._step(
            turn, requests.list_tools, read_tools_page, new_request_id(), cursor
        )

    def _turn(self) -> _Turn:
        return _Turn(self._endpoint.timeout_s)

    async def _step(
        self,
        turn: _Turn,
        build: Callable[..., Request],
        read: Callable[[Reply], OutcomeT],
        request_id: int,
        *args: Any,
        **kwargs: Any,
    ) -> Step[OutcomeT | NoAnswer]:
        """One request; once more, under a new id, in a version that the server says it has."""
        exchange = await self._send(turn, build, request_id, *args, **kwargs)
        if self._agrees_on_a_version(exchange.reply):
            exchange = await self._send(turn, build, new_request_id(), *args, **kwargs)
        if exchange.reply is not None:
            return Step(read(exchange.reply), exchange)
        assert exchange.failure is not None
        failure = exchange.failure
        return Step(NoAnswer(failure.kind, failure.sentence, failure.sent), exchange)

    async def _send(
        self, turn: _Turn, build: Callable[..., Request], request_id: int, *args: Any, **kwargs: Any
    ) -> Exchange:
        """Builds and sends, in time. What JSON or a header cannot carry is not sent."""
        try:
            request = build(request_id, *args, version=self.version, **kwargs)
        except ValueError:
            sentence = "The arguments or answers hold something that cannot be sent."
            return failed(FailureKind.BAD_REQUEST, sentence, sent=False)
        left_s = turn.left_s()
        if left_s <= 0:
            return failed(FailureKind.TIMEOUT, "The server did not answer in time.", sent=False)
        return await self._transport.send(self._endpoint, request, within_s=left_s)

    def _agrees_on_a_version(self, reply: Reply | None) -> bool:
        """The server refused our version and named one that we speak (basic/versioning)."""
        offered = offered_versions(reply) if reply is not None else ()
        mutual = next((version for version in MODERN_VERSIONS if version in offered), None)
        self.version = mutual or self.version
        return mutual is not None


def _why_stop(pages: list[ToolsPage], cursor_came_before: bool) -> str | None:
    if sum(len(page.tools) + len(page.rejected) for page in pages) > MAX_TOOLS:
        return f"The server has more than {MAX_TOOLS} tools; the rest was not read."
    if pages[-1].next_cursor is None:
        return None
    if cursor_came_before:
        return "The server gave the same cursor twice; the list ends there."
    if len(pages) >= MAX_TOOL_PAGES:
        return f"The server's list has more than {MAX_TOOL_PAGES} pages; the rest was not read."
    if sum(page.chars for page in pages) > MAX_TOOL_LIST_CHARS:
        most = f"{MAX_TOOL_LIST_CHARS // 1024**2} MiB"
        return f"The server's list is bigger than {most}; the rest was not read."
    return None


def _ended_early(
    pages: list[ToolsPage], outcome: Rejected | NoAnswer, exchange: Exchange
) -> Step[ToolList | Rejected | NoAnswer]:
    if not pages:
        return Step(outcome, exchange)
    return Step(_joined(pages, "A page of the list could not be read."), exchange)


def _joined(pages: list[ToolsPage], problem: str | None) -> ToolList:
    """One list of all pages; of tools with one name only the first can be told apart."""
    tools: dict[str, Tool] = {}
    rejected: list[RejectedTool] = []
    for page in pages:
        rejected += page.rejected
        for tool in page.tools:
            if tools.setdefault(tool.name, tool) is not tool:
                rejected.append(RejectedTool(tool.name, "Another tool has the same name."))
    kept = tuple(tools.values())[:MAX_TOOLS]
    return ToolList(kept, tuple(rejected), problem)
