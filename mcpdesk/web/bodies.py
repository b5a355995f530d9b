"""Refuses request bodies that are bigger than any form of the desk.

Django keeps a whole body, on disk when it is big, before it looks at who sent it: without a bound
anybody could fill the disk that the database lives on.
"""

from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[..., Awaitable[Any]]
Message = dict[str, Any]

_REFUSAL = b"The request is too big. Nothing was changed."


class BoundedBodies:
    """Passes HTTP requests on whose body has at most `most` bytes."""

    def __init__(self, application: Application, most: int) -> None:
        self.application = application
        self.most = most

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if _announced(scope) > self.most:
            await _refuse(send)
            return
        exchange = _Exchange(self.most, receive, send)
        await self.application(scope, exchange.receive, exchange.send)
        if exchange.exceeded and not exchange.answered:
            await _refuse(send)


class _Exchange:
    """One request and its answer: what came so far, and whether anything was answered."""

    def __init__(self, most: int, receive: Any, send: Any) -> None:
        self._left = most
        self._receive = receive
        self._send = send
        self.answered = False

    @property
    def exceeded(self) -> bool:
        return self._left < 0

    async def receive(self) -> Message:
        """The next part of the request; a sender who says too much counts as gone."""
        message: Message = await self._receive()
        self._left -= len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.exceeded else message

    async def send(self, message: Message) -> None:
        self.answered = True
        await self._send(message)


def _announced(scope: Message) -> int:
    """What the headers say is coming; 0 when they say nothing (readable)."""
    told = dict(scope["headers"]).get(b"content-length", b"")
    return int(told) if told.isdigit() and len(told) < 20 else 0


async def _refuse(send: Any) -> None:
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(_REFUSAL)).encode()),
        (b"connection", b"close"),  # the rest of the body is not read
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": _REFUSAL})
