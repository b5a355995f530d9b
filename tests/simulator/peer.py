"""A strict client of the simulator inside this process, with a clock that the test moves."""

import asyncio
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpdesk.simulator.asgi import Simulator
from mcpdesk.simulator.headers import NAME_FIELDS
from mcpdesk.simulator.stores import MemoryStore, Store
from mcpdesk.simulator.tools.registry import TOOLS
from mcpdesk.simulator.world import World

CAPABILITIES = {
    "elicitation": {"form": {}, "url": {}},
    "extensions": {"io.modelcontextprotocol/tasks": {}},
}


@dataclass
class Clock:
    """Unix milliseconds; moves only when told."""

    now_ms: int = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms

    def pass_ms(self, ms: int) -> None:
        self.now_ms += ms


@dataclass
class Answer:
    """One HTTP response. `whole` is False when the server broke off."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = False

    @property
    def message(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded

    @property
    def result(self) -> dict[str, Any]:
        assert "result" in self.message, self.message
        result: dict[str, Any] = self.message["result"]
        return result

    @property
    def error(self) -> tuple[int, str]:
        error = self.message["error"]
        return error["code"], error["message"]


class Peer:
    """Sends requests as the specification says, unless a test says otherwise."""

    def __init__(self, clock: Clock, *stores: Store, seed: str = "seed", **world: Any) -> None:
        names = ("a", "b", "c")
        self.worlds = [
            World(store, TOOLS, seed, name, clock=clock, **world)
            for store, name in zip(stores or (MemoryStore(),), names, strict=False)
        ]
        self.app = Simulator(*self.worlds)
        self.ids = itertools.count(1)

    def http(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        path, _, query = path.partition("?")
        sent = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": sent,
        }
        return asyncio.run(self._exchange(scope, body))

    async def _exchange(self, scope: dict[str, Any], body: bytes) -> Answer:
        answer, events = Answer(), [{"type": "http.request", "body": body}]

        async def receive() -> dict[str, Any]:
            return events.pop() if events else {"type": "http.disconnect"}

        async def send(event: Any) -> None:
            if event["type"] == "http.response.start":
                answer.status = event["status"]
                answer.headers = {k.decode(): v.decode() for k, v in event["headers"]}
            else:
                answer.body += event["body"]
                answer.whole = not event.get("more_body", False)

        await self.app(scope, receive, send)
        return answer

    def rpc(
        self,
        method: str,
        *,
        headers: Mapping[str, str | None] | None = None,
        meta: Mapping[str, Any] | None = None,
        request_id: Any = None,
        path: str = "/mcp",
        **params: Any,
    ) -> Answer:
        """A well-formed request; `headers` and `meta` replace, None leaves out."""
        params["_meta"] = _merged(
            {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
            },
            meta,
        )
        sent = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "host": "127.0.0.1:8650",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": method,
        }
        if field_name := NAME_FIELDS.get(method):
            sent["mcp-name"] = params[field_name]
        message = {"jsonrpc": "2.0", "id": request_id or next(self.ids), "method": method}
        body = json.dumps(message | {"params": params}).encode()
        return self.http("POST", path, body, _merged(sent, headers))

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Answer:
        return self.rpc("tools/call", name=tool, arguments=arguments or {}, **more)

    def start(self, tool: str, **arguments: Any) -> str:
        """Make a task and return its id."""
        result = self.call(tool, arguments).result
        assert result["resultType"] == "task", result
        task_id: str = result["taskId"]
        return task_id

    def get(self, task_id: str) -> dict[str, Any]:
        return self.rpc("tasks/get", taskId=task_id).result

    def update(self, task_id: str, **responses: Any) -> Answer:
        return self.rpc("tasks/update", taskId=task_id, inputResponses=responses)

    def cancel(self, task_id: str) -> Answer:
        return self.rpc("tasks/cancel", taskId=task_id)

    def control(self, method: str, path: str, body: object = None) -> Any:
        return self.http(method, path, json.dumps(body).encode()).message

    def side_effects(self) -> dict[str, Any]:
        report: dict[str, Any] = self.control("GET", "/side-effects")
        return report


def _merged(base: dict[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    merged = base | dict(changes or {})
    return {key: value for key, value in merged.items() if value is not None}


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


YES = accept(confirm=True)
NO = {"action": "decline"}
