"""A raw HTTP/1.1 server in the test's own loop: it sends exactly the bytes it is told to."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

Answer = bytes | Callable[["Received", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Received:
    """One request as it came. `connection` numbers the connections from 1."""

    connection: int
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass
class RawServer:
    """Answers request after request with `answer`: bytes, or a function that writes them."""

    answer: Answer | Callable[[Received], bytes]
    ssl: Any = None
    requests: list[Received] = field(default_factory=list)
    open_connections: int = 0
    connections: int = 0

    async def __aenter__(self) -> Self:
        self._exit = AsyncExitStack()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.ssl)
        self.port: int = server.sockets[0].getsockname()[1]
        self._exit.callback(server.close)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._exit.aclose()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        try:
            while received := await _receive(reader, number):
                self.requests.append(received)
                await self._answer(received, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open_connections -= 1
            writer.close()

    async def _answer(self, received: Received, writer: asyncio.StreamWriter) -> None:
        if isinstance(self.answer, bytes):
            writer.write(self.answer)
        elif asyncio.iscoroutinefunction(self.answer):
            await self.answer(received, writer)
        else:
            writer.write(self.answer(received))  # type: ignore[call-arg, arg-type]
        await writer.drain()


async def _receive(reader: asyncio.StreamReader, connection: int) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(connection, first.split(" ")[1], headers, body)


def http(
    body: bytes, *headers: str, status: str = "200 OK", kind: str = "application/json"
) -> bytes:
    """A whole response with a Content-Length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    if kind:
        lines.append(f"Content-Type: {kind}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def result_of(received: Received, **result: Any) -> bytes:
    """A whole response with a result for this request."""
    message = {"jsonrpc": "2.0", "id": received.message["id"], "result": result}
    return http(json.dumps(message).encode())


def error_of(
    received: Received, code: int, data: Any = None, status: str = "400 Bad Request"
) -> bytes:
    """A whole response with an error for this request."""
    error = {"code": code, "message": "No", "data": data}
    message = {"jsonrpc": "2.0", "id": received.message["id"], "error": error}
    return http(json.dumps(message).encode(), status=status)
