"""The one module that talks HTTP: timeouts, size caps, redirects, addresses, credentials."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mcpdesk.mcp.replies import Reply
from mcpdesk.mcp.requests import Request


class FailureKind(StrEnum):
    """Why no HTTP response could be read."""

    BAD_ADDRESS = "bad_address"
    BLOCKED_ADDRESS = "blocked_address"
    DNS = "dns"
    REFUSED = "refused"
    TLS = "tls"
    CONNECT_TIMEOUT = "connect_timeout"
    TIMEOUT = "timeout"
    BROKEN = "broken"
    REDIRECT = "redirect"


@dataclass(frozen=True, slots=True)
class Failure:
    """No response. `sent` is False only where certainly no byte of the request left."""

    kind: FailureKind
    sentence: str
    sent: bool


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One MCP endpoint and the identity used on it. `headers` are credentials: never shown."""

    server_id: object
    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    timeout_s: float = 30.0
    allow_private: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one request came to: exactly one of `reply` and `failure` is set.

    `retry_after_s`: the server asked to be left alone that long. Times are aware, in UTC.
    """

    reply: Reply | None
    failure: Failure | None
    retry_after_s: float | None
    received_at: datetime
    server_date: datetime | None


class Transport:
    """Sends requests; one kept-alive pool per server. Belongs to one event loop."""

    async def send(self, endpoint: Endpoint, request: Request) -> Exchange:
        """One request, one exchange. Never raises for what a peer does."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Closes all connections. The transport can be used again afterwards."""
        raise NotImplementedError
