"""From a server's row to the endpoint that the transport talks to."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings

from tasks_monitor.engine.work import Call, Work
from tasks_monitor.models import Server
from tasks_monitor.transport import Endpoint


def endpoint_of(server: Server, timeout_s: float | None = None) -> Endpoint:
    """The address and the identity used on it; the timeout is that of a call unless given."""
    return Endpoint(
        server_id=server.pk,
        url=server.url,
        headers=credential_headers(server.credential),
        timeout_s=timeout_s or float(server.call_timeout_s),
        allow_private=server.allow_private and settings.ALLOW_PRIVATE_SERVERS,
    )


def address(works: Iterable[Work]) -> list[tuple[Work, Endpoint]]:
    """Each work with its endpoint, read anew: a rotated credential counts at once.

    A call may take as long as its server is allowed to; everything else answers soon or never.
    """
    works = list(works)
    servers = Server.objects.in_bulk({work.claim.server_id for work in works})
    calls = {pk: endpoint_of(server) for pk, server in servers.items()}
    others = {
        pk: endpoint_of(server, settings.ENGINE["POLL_TIMEOUT_S"]) for pk, server in servers.items()
    }
    return [
        (work, (calls if isinstance(work, Call) else others)[work.claim.server_id])
        for work in works
    ]


def credential_headers(credential: dict[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """The request headers of a stored credential."""
    return tuple((name, value) for name, value in (credential or {}).get("headers", ()))
