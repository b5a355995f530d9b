"""A receiver of webhooks on a real port that fails in every way receivers do, and counts."""

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Behaviour = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, *headers: tuple[str, str]) -> Behaviour:
    """Answer with this status and nothing else."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def closes(handler: BaseHTTPRequestHandler) -> None:
    """Take the request, then hang up without a word."""
    handler.connection.shutdown(socket.SHUT_RDWR)


def five_megabytes(handler: BaseHTTPRequestHandler) -> None:
    """Answer with more than anybody asked for."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(5 * 1024 * 1024))
    handler.end_headers()
    try:
        for _ in range(80):
            handler.wfile.write(b"x" * 65_536)
    except OSError:
        pass


@dataclass
class Receiver:
    """Listens on this machine; `behaviour` may be changed while it runs."""

    behaviour: Behaviour = field(default_factory=lambda: status(200))
    requests: list[Received] = field(default_factory=list)

    def __enter__(self) -> Self:
        receiver = self
        self.let_go = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.requests.append(Received(self.path, headers, body))
                receiver.behaviour(self)

            def log_message(self, *_: Any) -> None:
                """Keeps quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.let_go.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hook"

    def hangs(self, handler: BaseHTTPRequestHandler) -> None:
        """Say nothing until the test is over."""
        self.let_go.wait(30)
