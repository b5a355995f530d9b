"""Puts a spoiled response on the wire."""

import asyncio

from mcpdesk.simulator.faults.moment import Moment
from mcpdesk.simulator.faults.wire import Ending, Wire
from mcpdesk.simulator.http import Receive, Send


def _head(wire: Wire, moment: Moment, status: int) -> dict[str, object]:
    headers = wire.headers(moment)
    if wire.media_type is not None:
        headers = {"content-type": wire.media_type, **headers}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": encoded}


async def send_spoiled(
    send: Send, receive: Receive, wire: Wire, moment: Moment, body: bytes, status: int
) -> None:
    """Send `body` as the wire says; `status` is used where the wire has none of its own."""
    if wire.answers:
        await send(_head(wire, moment, wire.status or status))
        for number, chunk in enumerate(wire.cut(body)):
            if number:
                await asyncio.sleep(wire.pause_ms / 1000)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    if wire.ending is Ending.SILENT:
        while (await receive())["type"] != "http.disconnect":
            pass
    elif wire.ending is Ending.WHOLE:
        await send({"type": "http.response.body", "body": b""})
