"""The initialize era (2025-11-25 and before), as far as a client needs it to see what it met.

A modern request gets a 400 whose body names no modern error, as servers of that era answer.
"""

from collections.abc import Mapping

from mcpdesk.simulator.http import Send, encode, send_body
from mcpdesk.simulator.protocol import METHOD_NOT_FOUND, Json, RpcError, error_message
from mcpdesk.simulator.request import parse
from mcpdesk.simulator.world import World

VERSION = "2025-11-25"
SESSION = "legacy-session"
NOT_INITIALIZED = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32000, "message": "Bad Request: Server not initialized"},
}


async def serve(world: World, headers: Mapping[str, str], body: bytes, send: Send) -> None:
    """Answer one POST under the rules of 2025-11-25, with one session for everybody."""
    message = parse(body)
    method, request_id = message["method"], message.get("id")
    if method == "initialize":
        reply = {"jsonrpc": "2.0", "id": request_id, "result": _initialized()}
        await send_body(send, 200, encode(reply), mcp_session_id=SESSION)
    elif headers.get("mcp-session-id") != SESSION:
        await send_body(send, 400, encode(NOT_INITIALIZED))
    elif request_id is None:
        await send_body(send, 202, b"")
    else:
        await send_body(send, 200, encode(_answer(world, method, request_id)))


def _initialized() -> Json:
    return {
        "protocolVersion": VERSION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "mcpdesk-simulator-legacy", "version": "1.0.0"},
    }


def _answer(world: World, method: str, request_id: object) -> Json:
    results: dict[str, Json] = {
        "ping": {},
        "tools/list": {"tools": [tool.listed() for tool in world.tools.values()]},
        "tools/call": {"content": [{"type": "text", "text": "Done."}]},
    }
    if method not in results:
        return error_message(request_id, RpcError(METHOD_NOT_FOUND, "Method not found"))
    return {"jsonrpc": "2.0", "id": request_id, "result": results[method]}
