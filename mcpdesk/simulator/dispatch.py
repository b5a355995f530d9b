"""From a checked request to its answer: one table of methods."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from mcpdesk.simulator import calls, catalog, listen, tasks
from mcpdesk.simulator.protocol import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    TASKS_EXTENSION,
    VERSION,
    Json,
    RpcError,
    error_message,
    result_message,
)
from mcpdesk.simulator.request import Request
from mcpdesk.simulator.world import World

PAGE = 100

Handler = Callable[[World, Request], Json | Awaitable[Json]]


def discover(world: World, request: Request) -> Json:
    """Versions, capabilities and identity."""
    return catalog.CACHE | {
        "supportedVersions": [VERSION],
        "capabilities": {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {},
            "extensions": {TASKS_EXTENSION: {}},
        },
        "instructions": "A scripted server for trying out hosts: nothing it does is real.",
    }


def list_tools(world: World, request: Request) -> Json:
    """A page of tools; the cursor is the position of the next one."""
    cursor = request.params.get("cursor", "0")
    if not isinstance(cursor, str) or not cursor.isdecimal() or int(cursor) > len(world.tools):
        raise RpcError(INVALID_PARAMS, "Invalid cursor")
    start = int(cursor)
    listed = [tool.listed() for tool in list(world.tools.values())[start : start + PAGE]]
    page: Json = catalog.CACHE | {"tools": listed}
    if start + PAGE < len(world.tools):
        page["nextCursor"] = str(start + PAGE)
    return page


METHODS: dict[str, Handler] = {
    "server/discover": discover,
    "tools/list": list_tools,
    "tools/call": calls.call,
    "tasks/get": tasks.get,
    "tasks/update": tasks.update,
    "tasks/cancel": tasks.cancel,
    "prompts/list": catalog.list_prompts,
    "prompts/get": catalog.get_prompt,
    "resources/list": catalog.list_resources,
    "resources/templates/list": catalog.list_templates,
    "resources/read": catalog.read_resource,
}

LIST_CHANGING_TOOLS = {
    "test_trigger_tool_change": "toolsListChanged",
    "test_trigger_prompt_change": "promptsListChanged",
}


async def reply(world: World, request: Request) -> Json:
    """The JSON-RPC response, with a result or an error."""
    try:
        return await _answer(world, request)
    except RpcError as error:
        return error_message(request.id, error)


async def _answer(world: World, request: Request) -> Json:
    handler = METHODS.get(request.method)
    if handler is None:
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {request.method}")
    result = handler(world, request)
    if not isinstance(result, dict):
        result = await result
    if change := LIST_CHANGING_TOOLS.get(str(request.params.get("name"))):
        world.hub.announce(change)
    return result_message(request.id, {**result, "_meta": world.meta})


def streams(world: World, request: Request) -> AsyncIterator[Json] | None:
    """The messages of a request that is answered by an event stream; None for all others."""
    if request.method == "subscriptions/listen":
        wanted = request.params.get("notifications")
        if not isinstance(wanted, dict):
            raise RpcError(INVALID_PARAMS, "notifications must be an object")
        if "taskIds" in wanted:
            tasks.require_extension(request)
        return listen.stream(world, request, wanted)
    if request.method != "tools/call":
        return None
    tool, _ = calls.find_tool(world, request)
    return _with_progress(world, request) if tool.streamed else None


async def _with_progress(world: World, request: Request) -> AsyncIterator[Json]:
    token = request.meta.get("progressToken")
    if token is not None:
        for progress in (0, 50, 100):
            params = {"progressToken": token, "progress": progress, "total": 100}
            yield {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
            await asyncio.sleep(0.02)
    yield await reply(world, request)
