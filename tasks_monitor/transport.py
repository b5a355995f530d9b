"""MCP over HTTP: timeouts, size caps, redirects within the origin, credentials.

Connections, addresses and what a failure means are mcpdesk.http's.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from mcpdesk.http.addresses import BadAddress, origin_of, redirected
from mcpdesk.http.client import (
    NETWORK_ERRORS,
    Address,
    Failure,
    FailureKind,
    Guard,
    Response,
    address,
    classified,
    connections,
)
from mcpdesk.http.client import Request as HttpRequest
from mcpdesk.mcp.decoding import ACCEPTED
from mcpdesk.mcp.pacing import http_date, retry_after
from mcpdesk.mcp.reader import Reply, ResponseReader
from mcpdesk.mcp.requests import CLIENT_INFO, Request

CONNECT_TIMEOUT_S = 10.0
CONNECT_SHARE = 0.8
"""Connecting may take this share of an exchange: who times out while connecting sent nothing."""
IDLE_POOL_S = 300.0
DRAIN_S = 0.05
DRAIN_BYTES = 64 * 1024

_REDIRECTS = (301, 302, 303, 307, 308)
_FOLLOWED = (307, 308)
_BUSY = (429, 503)
_OUR_HEADERS = (
    ("accept-encoding", ACCEPTED),
    ("user-agent", f"{CLIENT_INFO['name']}/{CLIENT_INFO['version']}"),
)
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?|")
_RESERVED = re.compile(
    r"mcp-.*|content-.*|accept.*|host|connection|transfer-encoding|te|upgrade|user-agent|cookie",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One MCP endpoint and the identity used on it. `headers` are credentials: never shown.

    `timeout_s` bounds a whole exchange, from the look-up of the name to the last byte.
    """

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
    """Sends requests; one pool of kept-alive connections per server. For one event loop."""

    def __init__(self) -> None:
        self._pools: dict[object, _Pool] = {}
        self._swept_at = 0.0

    async def send(
        self, endpoint: Endpoint, request: Request, *, within_s: float | None = None
    ) -> Exchange:
        """One request, one exchange, in `within_s` where that is less than the endpoint's timeout.

        Never raises for what a peer does.
        """
        try:
            pool = await self._pool(endpoint)
        except BadAddress as bad:
            return failed(FailureKind.BAD_ENDPOINT, str(bad), sent=False)
        pool.in_flight += 1
        try:
            async with asyncio.timeout(min(endpoint.timeout_s, within_s or endpoint.timeout_s)):
                return await pool.exchange(request)
        except NETWORK_ERRORS as error:
            return _nothing(classified(error))
        finally:
            pool.in_flight -= 1

    async def aclose(self) -> None:
        """Closes all connections. The transport can be used again afterwards."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    async def _pool(self, endpoint: Endpoint) -> "_Pool":
        """The pool of this server and identity. Raises BadAddress."""
        now = asyncio.get_running_loop().time()
        if now - self._swept_at > IDLE_POOL_S / 5:
            await self._drop_idle(now)
        key = (endpoint.server_id, endpoint.url, endpoint.headers, endpoint.allow_private)
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = _Pool(endpoint)
        pool.used_at = now
        return pool

    async def _drop_idle(self, now: float) -> None:
        self._swept_at = now
        for key, pool in list(self._pools.items()):
            if not pool.in_flight and now - pool.used_at > IDLE_POOL_S:
                del self._pools[key]
                await pool.aclose()


class _Pool:
    """The connections to one server under one identity.

    Calls get a connection of their own each: on a kept-alive one the server may close at the very
    moment of sending, and then nobody knows whether the tool ran. Everything else may be repeated.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        origin = origin_of(endpoint.url)
        _check_credentials(endpoint.headers)
        guard = Guard(origin, endpoint.allow_private)
        self._url = address(endpoint.url)
        self._headers = [*_OUR_HEADERS, *endpoint.headers]
        connect_s = min(CONNECT_TIMEOUT_S, CONNECT_SHARE * endpoint.timeout_s)
        self._extensions = {"timeout": {"connect": connect_s, "pool": connect_s}}
        self._kept = connections(guard, keep=True)
        self._single = connections(guard, keep=False)
        self.in_flight = 0
        self.used_at = 0.0

    async def exchange(self, request: Request) -> Exchange:
        """Sends, follows at most one redirect within the origin, and reads the answer."""
        exchange = await self._once(self._url, request)
        if isinstance(exchange, Address):
            exchange = await self._once(exchange, request)
        if isinstance(exchange, Address):
            return failed(FailureKind.REDIRECT, "The server redirects again and again.")
        return exchange

    async def aclose(self) -> None:
        await self._kept.aclose()
        await self._single.aclose()

    async def _once(self, url: Address, request: Request) -> Exchange | Address:
        """The exchange, or the address to repeat it at."""
        http = self._single if request.method == "tools/call" else self._kept
        response = await http.handle_async_request(
            HttpRequest(
                "POST",
                url,
                headers=[*request.headers, *self._headers],
                content=request.body,
                extensions=self._extensions,
            )
        )
        try:
            if response.status_code in _REDIRECTS:
                return _redirect(url, response)
            return await _read(response, request.id)
        finally:
            await response.aclose()


def _check_credentials(headers: tuple[tuple[str, str], ...]) -> None:
    """Raises BadAddress for headers that HTTP cannot carry, or that are not for others to set."""
    for name, value in headers:
        if not _FIELD_NAME.fullmatch(name) or not _FIELD_VALUE.fullmatch(value):
            raise BadAddress("A header of the credentials cannot be sent over HTTP.")
        if _RESERVED.fullmatch(name):
            raise BadAddress("A header of the credentials has a name the protocol needs itself.")


async def _read(response: Response, expected_id: int) -> Exchange:
    headers = response.headers
    reader = ResponseReader(response.status_code, headers, expected_id)
    chunks = aiter(response.stream)  # type: ignore[arg-type]  # an asynchronous one always
    async for chunk in chunks:
        if reader.feed(chunk):
            await _drain(chunks)
            break
    now = datetime.now(UTC)
    is_busy = response.status_code in _BUSY
    return Exchange(
        reply=reader.finish(),
        failure=None,
        retry_after_s=retry_after(headers.get("retry-after"), now) if is_busy else None,
        received_at=now,
        server_date=_server_date(headers.get("date")),
    )


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Reads what little may still come, so that the connection can be used again."""
    size = 0
    with contextlib.suppress(TimeoutError, *NETWORK_ERRORS):
        async with asyncio.timeout(DRAIN_S):
            async for chunk in chunks:
                size += len(chunk)
                if size > DRAIN_BYTES:
                    return


# Many answers arrive within the same second, and their dates are the same text.
_server_date = lru_cache(maxsize=64)(http_date)


def _redirect(url: Address, response: Response) -> Exchange | Address:
    try:
        target = address(redirected(str(url), response.headers.get("location", "")))
    except BadAddress as bad:
        return failed(FailureKind.REDIRECT, str(bad))
    if response.status_code in _FOLLOWED:
        return target
    # A 301, 302 or 303 would turn the POST into a GET (RFC 9110 section 15.4).
    return failed(FailureKind.REDIRECT, "The server has moved to another path of its address.")


def failed(kind: FailureKind, sentence: str, *, sent: bool = True) -> Exchange:
    """An exchange that came to nothing."""
    return _nothing(Failure(kind, sentence, sent))


def _nothing(failure: Failure) -> Exchange:
    return Exchange(None, failure, None, datetime.now(UTC), None)
