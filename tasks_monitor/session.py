"""One conversation with one server: requests, versions, pages. Used by engine, web and commands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mcpdesk.mcp.headers import HeaderPlan
from mcpdesk.mcp.outcomes import (
    AckOutcome,
    CallOutcome,
    DiscoverOutcome,
    NoAnswer,
    Rejected,
    TaskOutcome,
)
from mcpdesk.mcp.tools import RejectedTool, Tool
from tasks_monitor.transport import Endpoint, Exchange, Transport

OutcomeT = TypeVar("OutcomeT")


@dataclass(frozen=True, slots=True)
class ToolList:
    """All pages of `tools/list`. `problem` says in a sentence why it is not complete."""

    tools: tuple[Tool, ...]
    rejected: tuple[RejectedTool, ...]
    ttl_ms: int
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Step(Generic[OutcomeT]):
    """One exchange and what it means. `tools` is set where the list was read again on the way."""

    outcome: OutcomeT
    exchange: Exchange
    tools: ToolList | None = None


class Session:
    """Speaks to one endpoint. Keeps nothing but the version agreed on."""

    def __init__(self, transport: Transport, endpoint: Endpoint) -> None:
        raise NotImplementedError

    async def discover(self) -> Step[DiscoverOutcome]:
        """`server/discover`."""
        raise NotImplementedError

    async def list_tools(self) -> Step[ToolList | Rejected | NoAnswer]:
        """`tools/list`, all pages."""
        raise NotImplementedError

    async def call_tool(
        self,
        request_id: int,
        name: str,
        arguments: Mapping[str, Any],
        header_plan: HeaderPlan = (),
        input_responses: Mapping[str, Any] | None = None,
        request_state: str | None = None,
    ) -> Step[CallOutcome]:
        """`tools/call`."""
        raise NotImplementedError

    async def get_task(self, request_id: int, task_id: str) -> Step[TaskOutcome]:
        """`tasks/get`."""
        raise NotImplementedError

    async def update_task(
        self, request_id: int, task_id: str, input_responses: Mapping[str, Any]
    ) -> Step[AckOutcome]:
        """`tasks/update`."""
        raise NotImplementedError

    async def cancel_task(self, request_id: int, task_id: str) -> Step[AckOutcome]:
        """`tasks/cancel`."""
        raise NotImplementedError
