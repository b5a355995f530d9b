"""The requests the desk sends: one HTTP POST each, headers and body ready to go.

Every request carries its version, our name and our capabilities (basic/index, `_meta`), and the
headers that mirror it (basic/transports/streamable-http, Request Metadata).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mcpdesk.mcp import headers
from mcpdesk.mcp.headers import HeaderPlan

LATEST_VERSION = "2026-07-28"
MODERN_VERSIONS = (LATEST_VERSION,)
"""Revisions the desk can speak, best first."""

CLIENT_INFO = {"name": "mcpdesk", "version": "0.1.0"}
CAPABILITIES: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "extensions": {"io.modelcontextprotocol/tasks": {}},
}

_dump = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
"""ASCII only, so that whatever text came in (lone surrogates too) can go out as it was."""


@dataclass(frozen=True, slots=True)
class Request:
    """One JSON-RPC request as one HTTP POST. `repr` shows neither body nor values of headers."""

    id: int
    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def __repr__(self) -> str:
        return f"Request(id={self.id}, method={self.method!r})"


def discover(id: int, *, version: str = LATEST_VERSION, traceparent: str | None = None) -> Request:
    """`server/discover`: versions, capabilities and identity of the server."""
    return _request(id, "server/discover", {}, version, traceparent)


def list_tools(
    id: int,
    cursor: str | None = None,
    *,
    version: str = LATEST_VERSION,
    traceparent: str | None = None,
) -> Request:
    """`tools/list`, one page. An empty cursor is a cursor (server/utilities/pagination)."""
    params = {} if cursor is None else {"cursor": cursor}
    return _request(id, "tools/list", params, version, traceparent)


def call_tool(
    id: int,
    name: str,
    arguments: Mapping[str, Any],
    *,
    header_plan: HeaderPlan = (),
    input_responses: Mapping[str, Any] | None = None,
    request_state: str | None = None,
    version: str = LATEST_VERSION,
    traceparent: str | None = None,
) -> Request:
    """`tools/call`, first or again after a round of questions (basic/patterns/mrtr).

    `request_state` None means that none came, and none is sent; an empty string that came is sent
    back. Raises ValueError where name or arguments hold what JSON or UTF-8 cannot carry.
    """
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if input_responses is not None:
        params["inputResponses"] = input_responses
    if request_state is not None:
        params["requestState"] = request_state
    extra = [("mcp-name", headers.encode(name)), *headers.param_headers(header_plan, arguments)]
    return _request(id, "tools/call", params, version, traceparent, tuple(extra))


def get_task(
    id: int, task_id: str, *, version: str = LATEST_VERSION, traceparent: str | None = None
) -> Request:
    """`tasks/get`: all there is to know about a task. The hot path: one is sent per poll."""
    if traceparent is not None:
        return _task_request(id, "tasks/get", {"taskId": task_id}, version, traceparent)
    base, meta = _prepared("tasks/get", version)
    body = b'{"jsonrpc":"2.0","id":%d,"method":"tasks/get","params":{"taskId":%b,"_meta":%b}}' % (
        id,
        _dump(task_id).encode("ascii"),
        meta,
    )
    return Request(id, "tasks/get", (*base, ("mcp-name", headers.encode(task_id))), body)


def update_task(
    id: int,
    task_id: str,
    input_responses: Mapping[str, Any],
    *,
    version: str = LATEST_VERSION,
    traceparent: str | None = None,
) -> Request:
    """`tasks/update`: answers to some or all outstanding input requests of a task."""
    params = {"taskId": task_id, "inputResponses": input_responses}
    return _task_request(id, "tasks/update", params, version, traceparent)


def cancel_task(
    id: int, task_id: str, *, version: str = LATEST_VERSION, traceparent: str | None = None
) -> Request:
    """`tasks/cancel`: asks the server to stop. Cooperative: the task may still complete."""
    return _task_request(id, "tasks/cancel", {"taskId": task_id}, version, traceparent)


def _task_request(
    id: int, method: str, params: dict[str, Any], version: str, traceparent: str | None
) -> Request:
    name = ("mcp-name", headers.encode(params["taskId"]))
    return _request(id, method, params, version, traceparent, (name,))


def _request(
    id: int,
    method: str,
    params: dict[str, Any],
    version: str,
    traceparent: str | None,
    extra: tuple[tuple[str, str], ...] = (),
) -> Request:
    params["_meta"] = _meta(version)
    if traceparent is not None:
        params["_meta"]["traceparent"] = traceparent
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    base, _ = _prepared(method, version)
    return Request(id, method, base + extra, _dump(message).encode("ascii"))


def _meta(version: str) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
        "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    }


@lru_cache(maxsize=32)
def _prepared(method: str, version: str) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """The headers and the `_meta` that every request of this method and version shares."""
    base = (
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", version),
        ("mcp-method", method),
    )
    return base, _dump(_meta(version)).encode("ascii")
