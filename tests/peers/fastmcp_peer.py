"""A FastMCP server with the tasks extension, as somebody else would write one.

`python -m tests.peers.fastmcp_peer PORT`; the endpoint is /mcp. What its tools really did is
counted: GET /side-effects.
"""

import asyncio
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from starlette.requests import Request
from starlette.responses import JSONResponse

QUICK = timedelta(milliseconds=500)
mcp: FastMCP[Any] = FastMCP("FastMCP peer", instructions="A peer for tests.")
mcp.add_extension(TasksExtension(minimum_check_interval=timedelta(milliseconds=20)))
done: Counter[str] = Counter()


def ask(message: str, **properties: dict[str, Any]) -> ElicitRequest:
    """A form elicitation; each keyword is a property, all of them required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def accepted(context: Context, *keys: str) -> dict[str, Any] | None:
    """The accepted contents under these keys, joined; None while one is missing or refused."""
    answers = context.input_responses or {}
    content: dict[str, Any] = {}
    for key in keys:
        answer = answers.get(key)
        if not isinstance(answer, ElicitResult) or answer.action != "accept":
            return None
        content |= answer.content or {}
    return content


@mcp.tool
async def greet(name: str, nonce: str = "-") -> str:
    """Answers at once, though the client takes tasks."""
    done[nonce] += 1
    return f"Hello {name}"


@mcp.tool
async def refuse(nonce: str = "-") -> str:
    """A tool that reports an error of its own."""
    raise ToolError("the warehouse is closed")


@mcp.tool(task=TaskConfig(poll_interval=QUICK))
async def crunch(rows: int, nonce: str = "-") -> dict[str, int]:
    """A plain task."""
    await asyncio.sleep(0.2)
    done[nonce] += 1
    return {"sum": sum(range(rows + 1))}


@mcp.tool(task=TaskConfig(mode="required", poll_interval=QUICK))
async def reindex(index: str, nonce: str = "-") -> str:
    """A task that must not be inlined: it is refused to clients without the extension."""
    done[nonce] += 1
    return f"{index} is indexed"


@mcp.tool(task=TaskConfig(poll_interval=QUICK))
async def publish(project: str, context: Context, nonce: str = "-") -> str | InputRequiredResult:
    """A task that asks two things at once; each may be answered by itself."""
    if context.input_responses is None:
        return InputRequiredResult(
            input_requests={
                "where": ask(
                    f"Where does {project} go?",
                    region={"type": "string", "enum": ["north", "south"]},
                ),
                "when": ask("Publish now?", now={"type": "boolean", "title": "Now"}),
            }
        )
    answers = accepted(context, "where", "when")
    if answers is None:
        return "not published"
    done[nonce] += 1
    return f"{project} is in {answers['region']}, now: {answers['now']}"


@mcp.tool(task=TaskConfig(poll_interval=QUICK))
async def refund(order: str, nonce: str = "-") -> str:
    """A task that is made only after the call itself has asked (see AskFirst)."""
    await asyncio.sleep(0.2)
    done[nonce] += 1
    return f"{order} is refunded"


class AskFirst(Middleware):
    """Asks before the call of `refund` becomes a task."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, Any],
    ) -> Any:
        desk = context.fastmcp_context
        if context.message.name != "refund" or desk is None:
            return await call_next(context)
        if desk.input_responses is None:
            arguments = context.message.arguments or {}
            question = ask(
                f"How much of {arguments.get('order')} goes back?",
                amount={"type": "number", "minimum": 0, "maximum": 500},
            )
            asked = InputRequiredResult(
                input_requests={"amount": question}, request_state="asked-once"
            )
            return InputRequiredToolResult(asked)
        if desk.request_state != "asked-once" or accepted(desk, "amount") is None:
            raise ToolError("not refunded")
        return await call_next(context)


mcp.add_middleware(AskFirst())


@mcp.custom_route("/side-effects", methods=["GET"])
async def side_effects(request: Request) -> JSONResponse:
    """What was really done, by nonce."""
    return JSONResponse({"by_nonce": dict(done)})


if __name__ == "__main__":
    uvicorn.run(mcp.http_app(path="/mcp"), port=int(sys.argv[1]), log_level="warning")
