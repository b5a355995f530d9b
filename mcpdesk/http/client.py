"""The one module that opens HTTP connections: addresses, TLS, time limits, what a failure means.

httpx runs over aiohttp here (httpx-aiohttp), and requests go straight to that httpx transport:
the client above it would add cookies, proxies and redirects, which the desk must not have.
"""

import socket
import ssl
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import aiohttp
import httpx
import httpx_aiohttp

from mcpdesk.http.addresses import BadAddress, Origin, why_refused

KEEP_ALIVE_S = 60.0

Address = httpx.URL
Request = httpx.Request
Response = httpx.Response
Connections = httpx.AsyncBaseTransport
#: What an exchange may raise for reasons that are not ours; classified() says what it means.
NETWORK_ERRORS = (httpx.HTTPError, aiohttp.ClientError, OSError, ValueError)


class FailureKind(StrEnum):
    """Why no HTTP response could be read."""

    BAD_ENDPOINT = "bad_endpoint"
    BAD_REQUEST = "bad_request"
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


class Guard:
    """Makes the sockets: the last place before a connection, so no name can lead around it."""

    def __init__(self, origin: Origin, allow_private: bool) -> None:
        self._tls = origin.scheme == "https"
        self._allow_private = allow_private

    def __call__(self, info: tuple[Any, Any, int, str, tuple[Any, ...]]) -> socket.socket:
        family, kind, protocol, _, address = info
        reason = why_refused(address[0], allow_private=self._allow_private, tls=self._tls)
        if reason is not None:
            raise AddressRefused(reason)
        return socket.socket(family, kind, protocol)


class AddressRefused(OSError):
    """The guard refused an address; the text is a sentence."""


def connections(guard: Guard, *, keep: bool) -> Connections:
    """httpx's transport over aiohttp, made to carry nothing from one request to the next.

    `keep`: a connection may serve several requests, one after the other. For one event loop.
    """

    def client() -> aiohttp.ClientSession:
        keeping = {"keepalive_timeout": KEEP_ALIVE_S} if keep else {"force_close": True}
        connector = aiohttp.TCPConnector(
            limit=0, ssl=_tls_context(), socket_factory=guard, **keeping
        )
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
        )

    return httpx_aiohttp.AiohttpTransport(verify=_tls_context(), trust_env=False, client=client)


@lru_cache(maxsize=1)
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def address(text: str) -> Address:
    """Parsed once more, by those who connect. Raises BadAddress."""
    try:
        url = httpx.URL(text)
        httpx.Request("POST", url)
    except (httpx.InvalidURL, ValueError):
        raise BadAddress("The address is malformed.") from None
    return url


def classified(error: Exception) -> Failure:
    """What one of NETWORK_ERRORS means. Its text is not used: it may hold addresses and headers.

    httpx-aiohttp's translation is coarse, so the exception beneath it is looked at.
    """
    cause = error.__cause__ if isinstance(error, httpx.HTTPError) else error
    for kinds, kind, sentence in _BEFORE_SENDING:
        if isinstance(cause, kinds):
            refusal = getattr(cause, "os_error", None)
            if isinstance(refusal, AddressRefused):
                return Failure(FailureKind.BLOCKED_ADDRESS, str(refusal), sent=False)
            return Failure(kind, sentence, sent=False)
    if isinstance(cause, TimeoutError):
        return Failure(FailureKind.TIMEOUT, "The server did not answer in time.", sent=True)
    sentence = "The connection broke before the answer was complete."
    return Failure(FailureKind.BROKEN, sentence, sent=True)


_BEFORE_SENDING: tuple[tuple[tuple[type[BaseException], ...], FailureKind, str], ...] = (
    (
        (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError),
        FailureKind.BAD_ENDPOINT,
        "The address is malformed.",
    ),
    (
        (aiohttp.ConnectionTimeoutError,),
        FailureKind.CONNECT_TIMEOUT,
        "No connection to the server could be made in time.",
    ),
    (
        (aiohttp.ClientConnectorDNSError,),
        FailureKind.DNS,
        "The server's name could not be looked up.",
    ),
    (
        (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError),
        FailureKind.TLS,
        "No secure connection: the server's certificate or TLS settings were refused.",
    ),
    (
        (aiohttp.ClientConnectorError,),
        FailureKind.REFUSED,
        "The server refused the connection or cannot be reached.",
    ),
)
