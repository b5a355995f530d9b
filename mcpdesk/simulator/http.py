"""Reading and writing HTTP bodies over ASGI."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from mcpdesk.simulator.protocol import INVALID_REQUEST, Json, RpcError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY_BYTES = 8 * 1024 * 1024


def headers_of(scope: Scope) -> dict[str, str]:
    """Header values by lower-case name, without the white space around them."""
    return {name.decode(): value.decode("latin-1").strip() for name, value in scope["headers"]}


def encode(message: object) -> bytes:
    """Compact JSON in UTF-8."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


async def read_body(receive: Receive) -> bytes:
    """The whole body. Raises RpcError with status 413 past MAX_BODY_BYTES."""
    chunks, size, more = [], 0, True
    while more:
        event = await receive()
        chunks.append(event.get("body", b""))
        size += len(chunks[-1])
        if size > MAX_BODY_BYTES:
            raise RpcError(INVALID_REQUEST, "The body is too large", status=413)
        more = event.get("more_body", False)
    return b"".join(chunks)


async def send_body(
    send: Send, status: int, body: bytes, media_type: str = "application/json", **more: str
) -> None:
    """One whole response; underscores in the names of further headers stand for hyphens."""
    named = {"content-type": media_type, "content-length": str(len(body)), **more}
    headers = [(k.replace("_", "-").encode(), v.encode()) for k, v in named.items()]
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
