"""From a server's row to the endpoint that the transport talks to."""

from functools import lru_cache
from typing import Any

from django.conf import settings

from mcpdesk.encryption import decrypt_json
from tasks_monitor.engine.claim import Claim
from tasks_monitor.models import Server
from tasks_monitor.states import State
from tasks_monitor.transport import Endpoint


def endpoint_of(server: Server) -> Endpoint:
    """The address of a server and the identity used on it, outside the engine's own loop."""
    return Endpoint(
        server_id=server.pk,
        url=server.url,
        headers=credential_headers(server.credential),
        timeout_s=float(server.call_timeout_s),
        allow_private=server.allow_private and settings.ALLOW_PRIVATE_SERVERS,
    )


@lru_cache(maxsize=1024)
def endpoint_at(
    server_id: int, url: str, sealed_credential: bytes | None, allow_private: bool, timeout_s: float
) -> Endpoint:
    """The endpoint of a server's row; a rotated credential is another row, so another endpoint."""
    credential = None if sealed_credential is None else decrypt_json(sealed_credential)
    return Endpoint(
        server_id=server_id,
        url=url,
        headers=credential_headers(credential),
        timeout_s=timeout_s,
        allow_private=allow_private and settings.ALLOW_PRIVATE_SERVERS,
    )


def endpoint_for(claim: Claim) -> Endpoint:
    """Where the request of this claim goes. A call may take as long as its server is allowed to;
    everything else answers soon or never.
    """
    server = claim.server
    calls = claim.state == State.READY
    timeout_s = server.call_timeout_s if calls else settings.ENGINE["POLL_TIMEOUT_S"]
    return endpoint_at(
        server.server_id,
        server.url,
        server.sealed_credential,
        server.allow_private,
        float(timeout_s),
    )


def credential_headers(credential: dict[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """The request headers of a stored credential."""
    return tuple((name, value) for name, value in (credential or {}).get("headers", ()))
