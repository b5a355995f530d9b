"""The product's own session as the official conformance suite's client under test.

It lists the tools, calls each, answers every question with an acceptable value, sends again as
the protocol says and follows tasks. Nothing is stored: there is no database here.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcpdesk.mcp import elicitation
from mcpdesk.mcp.inputs import InputRequest
from mcpdesk.mcp.outcomes import Finished, InputRequired, NoAnswer, Rejected, TaskCreated
from mcpdesk.mcp.pacing import next_poll_delay_ms, state_only_delay_ms
from mcpdesk.mcp.tasks import Task
from mcpdesk.mcp.tools import Tool
from tasks_monitor.samples import sample
from tasks_monitor.session import Session, ToolList, new_request_id
from tasks_monitor.transport import Endpoint, Transport

MAX_ROUNDS = 20
MAX_POLLS = 100


@dataclass(frozen=True, slots=True)
class CallReport:
    """How one call ended: a sentence for the terminal, and whether a result was reached."""

    tool: str
    sentence: str
    succeeded: bool


async def run(
    url: str, calls: list[dict[str, Any]] | None = None
) -> AsyncGenerator[CallReport, None]:
    """Speaks to the server at `url`; `calls` name tools and arguments, else every tool is called.

    Yields how each call ended as soon as it has: a tool that never ends holds back no other line.
    Raises RuntimeError where not even the tools can be listed.
    """
    transport = Transport()
    session = Session(transport, Endpoint("conformance", url, timeout_s=20.0, allow_private=True))
    try:
        await session.discover()
        listed = (await session.list_tools()).outcome
        if not isinstance(listed, ToolList):
            raise RuntimeError(f"The tools cannot be listed: {_in_words(listed)}")
        planned = _planned(listed, calls)
        for tool, arguments in planned:
            yield await _call(session, tool, arguments)
    finally:
        await transport.aclose()


def main(url: str, report: Callable[[CallReport], None]) -> bool:
    """`run`, with what the suite passes in its environment variable as the calls to make.

    `report` is given each call as it ends; whether all of them came to a result.
    """
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")

    async def all_of_them() -> bool:
        succeeded = True
        async for ended in run(url, context.get("toolCalls")):
            report(ended)
            succeeded = succeeded and ended.succeeded
        return succeeded

    return asyncio.run(all_of_them())


def _planned(
    listed: ToolList, calls: list[dict[str, Any]] | None
) -> list[tuple[Tool, dict[str, Any]]]:
    if calls is None:
        return [(tool, sample(tool.input_schema)) for tool in listed.tools]
    tools = {tool.name: tool for tool in listed.tools}
    return [(tools[call["name"]], call["arguments"]) for call in calls if call["name"] in tools]


async def _call(session: Session, tool: Tool, arguments: Mapping[str, Any]) -> CallReport:
    responses: dict[str, Any] | None = None
    state: str | None = None
    for round in range(1, MAX_ROUNDS + 1):
        step = await session.call_tool(
            new_request_id(), tool.name, arguments, tool.header_plan, responses, state
        )
        outcome = step.outcome
        if isinstance(outcome, TaskCreated):
            return await _follow(session, tool.name, outcome.task)
        if not isinstance(outcome, InputRequired):
            return CallReport(tool.name, _in_words(outcome), isinstance(outcome, Finished))
        state = outcome.request_state
        responses = {each.key: answer(each) for each in outcome.input_requests} or None
        if responses is None:
            await asyncio.sleep(state_only_delay_ms(round) / 1000)
    return CallReport(tool.name, "The server never stopped asking.", succeeded=False)


async def _follow(session: Session, tool_name: str, seed: Task) -> CallReport:
    """Polls until the task ends; at least once, since only a poll tells the result."""
    answered: set[str] = set()
    task = seed
    for polls in range(MAX_POLLS):
        if not task.is_terminal:
            await asyncio.sleep(next_poll_delay_ms(task.poll_interval_ms, polls) / 1000)
        outcome = (await session.get_task(new_request_id(), seed.task_id)).outcome
        if not isinstance(outcome, Task):
            return CallReport(tool_name, _in_words(outcome), succeeded=False)
        task = outcome
        if task.is_terminal:
            return CallReport(tool_name, f"Task {task.raw_status}.", task.result is not None)
        asked = [each for each in task.input_requests if each.key not in answered]
        if asked:
            answers = {each.key: answer(each) for each in asked}
            await session.update_task(new_request_id(), seed.task_id, answers)
            answered |= answers.keys()
    return CallReport(tool_name, "The task never ended.", succeeded=False)


def answer(request: InputRequest) -> dict[str, Any]:
    """An acceptable answer; what this desk does not offer, or cannot read, is declined."""
    question = elicitation.read_params(request.params)
    if request.problem or isinstance(question, elicitation.InvalidElicitation):
        return {"action": "decline"}
    if isinstance(question, elicitation.UrlElicitation):
        return {"action": "accept"}
    return {"action": "accept", "content": sample(question.requested_schema)}


def _in_words(outcome: object) -> str:
    if isinstance(outcome, Finished):
        return "Finished, with an error of the tool." if outcome.is_error else "Finished."
    if isinstance(outcome, Rejected):
        return f"Rejected with error {outcome.code}."
    return outcome.sentence if isinstance(outcome, NoAnswer) else f"{type(outcome).__name__}."
