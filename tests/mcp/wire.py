"""Bytes as servers send them, and the shortest ways to read them."""

import json
from collections.abc import Iterable
from typing import Any

from mcpdesk.mcp.reader import Reply, ResponseReader, ResultReply

ID = 7
TASK_ID = "786512e2-9e0d-44bd-8f29-789f320fe840"
JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream"}


def message(result: Any = None, **members: Any) -> dict[str, Any]:
    """A JSON-RPC response with our id; `members` replace or add, None leaves out."""
    whole = {"jsonrpc": "2.0", "id": ID, "result": result or {}} | members
    return {name: value for name, value in whole.items() if value is not None}


def error(code: Any = -32603, text: Any = "No", *, id: Any = ID, **members: Any) -> dict[str, Any]:
    """A JSON-RPC error; `members` go beside its code."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text} | members}


def to_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def event(value: Any) -> bytes:
    return b"data: " + to_bytes(value) + b"\n\n"


def read(
    body: bytes | Iterable[bytes],
    headers: dict[str, str] = JSON,
    status: int = 200,
) -> Reply:
    """What the reader makes of a response that came in these chunks."""
    reader = ResponseReader(status, headers, ID)
    for chunk in [body] if isinstance(body, bytes) else body:
        if reader.feed(chunk):
            break
    return reader.finish()


def reply(result: dict[str, Any]) -> ResultReply:
    return ResultReply(result)


def task(**members: Any) -> dict[str, Any]:
    """The result of a `tasks/get`; `members` replace or add, and an Ellipsis leaves out."""
    whole = {
        "resultType": "complete",
        "taskId": TASK_ID,
        "status": "working",
        "createdAt": "2026-11-29T10:30:00Z",
        "lastUpdatedAt": "2026-11-29T10:40:00Z",
        "ttlMs": 60000,
        "pollIntervalMs": 5000,
    } | members
    return {name: value for name, value in whole.items() if value is not ...}


def form(text: str = "Go on?", **members: Any) -> dict[str, Any]:
    """An input request for a form."""
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    params = {"mode": "form", "message": text, "requestedSchema": schema} | members
    return {"method": "elicitation/create", "params": params}
