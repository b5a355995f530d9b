"""The ASGI application: the MCP endpoint at /mcp, and the control endpoints beside it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from typing import Any

from mcpdesk.simulator.control import CONTROLS
from mcpdesk.simulator.dispatch import answer, streams
from mcpdesk.simulator.protocol import Json, RpcError, error_message
from mcpdesk.simulator.request import check_media_types, check_origin, parse, read
from mcpdesk.simulator.world import World

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY_BYTES = 8 * 1024 * 1024


def encode(message: object) -> bytes:
    """Compact JSON in UTF-8."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(
        errors="surrogatepass"
    )


async def read_body(receive: Receive) -> bytes:
    """The whole body. Raises RpcError with status 413 past MAX_BODY_BYTES."""
    chunks, size, more = [], 0, True
    while more:
        event = await receive()
        chunks.append(event.get("body", b""))
        size += len(chunks[-1])
        if size > MAX_BODY_BYTES:
            raise RpcError(-32600, "The body is too large", status=413)
        more = event.get("more_body", False)
    return b"".join(chunks)


async def send_body(
    send: Send, status: int, body: bytes, media_type: str = "application/json"
) -> None:
    """One whole response."""
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_events(send: Send, messages: AsyncIterator[Json]) -> None:
    """An event stream with one event a message."""
    headers = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async for message in messages:
        event = b"event: message\ndata: " + encode(message) + b"\n\n"
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class Simulator:
    """The application of one instance."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One HTTP exchange, or the lifespan of the process."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["path"] == "/mcp":
            await self._mcp(scope, receive, send)
        elif control := CONTROLS.get((scope["method"], scope["path"])):
            body = await read_body(receive)
            await send_body(send, 200, encode(control(self.world, body)))
        else:
            await send_body(send, 404, b"Not found", "text/plain")

    async def _mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            name.decode(): value.decode("latin-1").strip() for name, value in scope["headers"]
        }
        if scope["method"] != "POST":
            await send_body(send, 405, b"Method Not Allowed", "text/plain")
            return
        journal, message = self.world.journal, None
        body = await read_body(receive)
        journal.begin(
            self.world.clock(), headers.get("mcp-method", ""), headers.get("mcp-name", ""), None
        )
        try:
            check_origin(headers)
            check_media_types(headers)
            message = parse(body)
            if "id" not in message:
                await send_body(send, 202, b"")
                return
            request = read(message, headers)
            events = streams(self.world, request)
            if events is not None:
                await _until_disconnect(send_events(send, events), receive)
            else:
                await send_body(send, 200, encode(await answer(self.world, request)))
        except RpcError as error:
            reply = error_message(message.get("id") if message else None, error)
            await send_body(send, error.status, encode(reply))
        finally:
            journal.end()


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


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        event = await receive()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
