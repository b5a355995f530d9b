"""One POST to the MCP endpoint, from its bytes to its answer."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from mcpdesk.simulator import legacy
from mcpdesk.simulator.dispatch import reply, streams
from mcpdesk.simulator.faults.catalog import Fault
from mcpdesk.simulator.faults.moment import Moment
from mcpdesk.simulator.faults.rules import striking
from mcpdesk.simulator.faults.sending import send_spoiled
from mcpdesk.simulator.http import (
    Receive,
    Scope,
    Send,
    encode,
    headers_of,
    read_body,
    send_body,
    send_events,
)
from mcpdesk.simulator.protocol import (
    HTTP_STATUS_OF,
    INVALID_REQUEST,
    Json,
    RpcError,
    error_message,
    result_message,
)
from mcpdesk.simulator.request import (
    Request,
    check_media_types,
    check_origin,
    parse,
    read,
)
from mcpdesk.simulator.world import World


def status_of(message: Json) -> int:
    """The HTTP status that fits a response message."""
    error = message.get("error")
    return HTTP_STATUS_OF.get(error.get("code", 0), 400) if isinstance(error, dict) else 200


async def serve(world: World, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one exchange and note it in the journal."""
    headers = headers_of(scope)
    if scope["method"] != "POST":
        await send_body(send, 405, b"Method Not Allowed", "text/plain", allow="POST")
        return
    entry = world.journal.begin(
        world.clock(), headers.get("mcp-method", ""), headers.get("mcp-name", "")
    )
    message: Json | None = None
    try:
        body = await read_body(receive)
        check_origin(headers)
        _check_token(world, headers)
        if world.legacy:
            await legacy.serve(world, headers, body, send)
            return
        check_media_types(headers)
        message = parse(body)
        if "id" not in message:
            await send_body(send, 202, b"")
            return
        entry.id = message["id"]
        request = read(message, headers)
        await _serve(world, request, scope["query_string"].decode(), receive, send)
    except RpcError as error:
        refusal = error_message(message.get("id") if message else None, error)
        more = {"www_authenticate": "Bearer"} if error.status == 401 else {}
        await send_body(send, error.status, encode(refusal), **more)
    finally:
        world.journal.end()


def _check_token(world: World, headers: Mapping[str, str]) -> None:
    if world.token is not None and headers.get("authorization") != f"Bearer {world.token}":
        raise RpcError(INVALID_REQUEST, "Authorization required", status=401)


async def _serve(world: World, request: Request, query: str, receive: Receive, send: Send) -> None:
    struck = striking(world, request, query)
    if struck is not None:
        await _serve_spoiled(world, request, *struck, receive, send)
        return
    events = streams(world, request)
    if events is not None:
        await _until_disconnect(send_events(send, events), receive)
    else:
        message = await reply(world, request)
        await send_body(send, status_of(message), encode(message))


async def _serve_spoiled(
    world: World, request: Request, fault: Fault, moment: Moment, receive: Receive, send: Send
) -> None:
    if fault.before_work:
        message = result_message(request.id, {})
    else:
        message = await reply(world, request)
    message = fault.shape(message, moment)
    body, status = encode(message), status_of(message)
    await send_spoiled(send, receive, fault.wire, moment, body, status)


async def _until_disconnect(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Closing the stream cancels the request (spec: basic/transports/streamable-http)."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)
