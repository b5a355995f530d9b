"""One POST to an address that somebody typed in: no redirects, no cookies, nothing kept."""

import asyncio
from dataclasses import dataclass

from mcpdesk.http.addresses import BadAddress, origin_of
from mcpdesk.http.client import (
    NETWORK_ERRORS,
    Failure,
    FailureKind,
    Guard,
    Request,
    address,
    classified,
    connections,
)

TIMEOUT_S = 10.0
CONNECT_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and head of a response. Its body is not read: nothing that is sent needs it."""

    status: int
    retry_after: str = ""
    location: str = ""


def post(
    url: str, *, headers: dict[str, str], body: bytes, allow_private: bool = False
) -> Answer | Failure:
    """Send and wait for the status, at most TIMEOUT_S in all; never raises for what a peer does.

    For a thread of its own: it has an event loop for this one request.
    """
    try:
        guard = Guard(origin_of(url), allow_private)
        request = Request(
            "POST",
            address(url),
            headers={**headers, "user-agent": "mcpdesk", "accept": "*/*"},
            content=body,
            extensions={"timeout": {"connect": CONNECT_TIMEOUT_S, "pool": CONNECT_TIMEOUT_S}},
        )
    except BadAddress as bad:
        return Failure(FailureKind.BAD_ENDPOINT, str(bad), sent=False)
    try:
        return asyncio.run(_answer(guard, request))
    except NETWORK_ERRORS as error:
        return classified(error)


async def _answer(guard: Guard, request: Request) -> Answer:
    made = connections(guard, keep=False)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            response = await made.handle_async_request(request)
            await response.aclose()
    finally:
        await made.aclose()
    found = response.headers
    return Answer(
        response.status_code, found.get("retry-after", ""), found.get("location", "")[:1000]
    )
