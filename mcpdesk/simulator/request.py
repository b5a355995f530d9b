"""One HTTP POST read into a checked JSON-RPC request, as strictly as the specification allows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from mcpdesk.simulator.headers import check_routing, mismatch
from mcpdesk.simulator.protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    META_CAPABILITIES,
    META_VERSION,
    PARSE_ERROR,
    TASKS_EXTENSION,
    UNSUPPORTED_VERSION,
    VERSION,
    Json,
    RpcError,
)

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Request:
    """A request that passed every check. `method` may still be one that nobody implements."""

    id: str | int
    method: str
    params: Json
    meta: Json
    headers: Mapping[str, str]

    @property
    def capabilities(self) -> Json:
        """What the client declared for this very request."""
        capabilities: Json = self.meta[META_CAPABILITIES]
        return capabilities

    @property
    def has_tasks(self) -> bool:
        """Whether the client declared the Tasks extension on this request."""
        return TASKS_EXTENSION in self.capabilities.get("extensions", {})


def check_origin(headers: Mapping[str, str]) -> None:
    """403 for a request that a browser sends on behalf of some other site (DNS rebinding)."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).hostname not in LOOPBACK_HOSTS:
        raise RpcError(INVALID_REQUEST, "Origin not allowed", status=403)


def parse(body: bytes) -> Json:
    """The single JSON object of the body.

    Raises RpcError -32700 for what is not JSON, -32600 for a batch, a response or no request.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, "Parse error") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "The body must be one JSON-RPC 2.0 message")
    if not isinstance(message.get("method"), str):
        raise RpcError(INVALID_REQUEST, "A message without a method is not a request")
    return message


def check_media_types(headers: Mapping[str, str]) -> None:
    """Refuse a body that is not JSON, and a client that does not accept both answer forms."""
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RpcError(INVALID_REQUEST, "Content-Type must be application/json", status=415)
    accept = headers.get("accept", "")
    if "application/json" not in accept or "text/event-stream" not in accept:
        raise RpcError(
            INVALID_REQUEST, "Accept must list application/json and text/event-stream", status=406
        )


def read(message: Json, headers: Mapping[str, str]) -> Request:
    """A checked request.

    Raises RpcError -32600 for a bad id, -32602 for missing `_meta` fields, -32020 for headers
    that do not match the body, -32022 for another protocol version.
    """
    request_id, method = message.get("id"), message["method"]
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        raise RpcError(INVALID_REQUEST, "The id must be a string or an integer")
    params = message.get("params", {})
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "params must be an object")
    meta = _checked_meta(params)
    _check_version(headers, meta[META_VERSION])
    check_routing(headers, method, params)
    return Request(request_id, method, params, meta, headers)


def _checked_meta(params: Json) -> Json:
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise RpcError(INVALID_PARAMS, "params._meta is missing")
    if not isinstance(meta.get(META_VERSION), str):
        raise RpcError(INVALID_PARAMS, f"params._meta lacks {META_VERSION}")
    capabilities = meta.get(META_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise RpcError(INVALID_PARAMS, f"params._meta lacks {META_CAPABILITIES}")
    if not isinstance(capabilities.get("extensions", {}), dict):
        raise RpcError(INVALID_PARAMS, "clientCapabilities.extensions must be an object")
    return meta


def _check_version(headers: Mapping[str, str], version: str) -> None:
    given = headers.get("mcp-protocol-version")
    if given is None:
        raise mismatch("MCP-Protocol-Version is missing")
    if given != version:
        raise mismatch("MCP-Protocol-Version does not match params._meta")
    if version != VERSION:
        raise RpcError(
            UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            {"supported": [VERSION], "requested": version},
        )
