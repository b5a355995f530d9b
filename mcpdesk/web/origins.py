"""Lets a socket be opened from the desk's own pages only.

Channels' own validator compares the host and leaves the port out, while browsers send cookies to
every port of a host: a page of another program on the same machine would be let in.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

Application = Callable[..., Awaitable[Any]]


class OwnPagesOnly:
    """Passes a socket on when it comes from a page of the same origin, and denies it otherwise."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        headers = {name: value.decode("latin-1") for name, value in scope.get("headers", ())}
        own = is_own(headers.get(b"origin", ""), headers.get(b"host", ""))
        chosen = self.application if own else WebsocketDenier.as_asgi()
        return await chosen(scope, receive, send)


def is_own(origin: str, host: str) -> bool:
    """Whether a page of this origin belongs to the desk that is asked under this `Host`.

    It does at the desk's public address too: a proxy may pass another host on.
    """
    if origin == _public_origin():
        return True
    schemes = ("https",) if settings.BEHIND_TLS else ("http", "https")
    domain, _ = split_domain_port(host)
    answered = bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
    return answered and origin in {f"{scheme}://{host}" for scheme in schemes}


def _public_origin() -> str:
    parts = urlsplit(settings.PUBLIC_URL)
    return f"{parts.scheme}://{parts.netloc}"
