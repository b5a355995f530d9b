"""A server on the official Python SDK, as somebody else would write one.

`python -m tests.peers.sdk_peer PORT`; the endpoint is /mcp. What its tools really did is counted:
GET /side-effects.
"""

import sys
from collections import Counter
from typing import Annotated, Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse

ACCOUNT_PAGE = "https://accounts.example/link?for=desk"
server = MCPServer("SDK peer", instructions="A peer for tests.")
done: Counter[str] = Counter()


class Place(BaseModel):
    city: str = Field(min_length=2, title="City")


class Nights(BaseModel):
    nights: int = Field(ge=1, le=30, title="Nights")


class Confirmed(BaseModel):
    confirmed: bool = Field(title="Book it")


@server.tool()
def add(a: int, b: int, nonce: str = "-") -> int:
    """Adds two numbers."""
    done[nonce] += 1
    return a + b


@server.tool()
def refuse() -> str:
    """A tool that reports an error of its own."""
    raise ToolError("no rooms are left")


async def ask_place() -> Elicit[Place]:
    return Elicit("Where to?", Place)


async def ask_nights(place: Annotated[Place, Resolve(ask_place)]) -> Elicit[Nights]:
    return Elicit(f"How many nights in {place.city}?", Nights)


async def ask_confirmation(
    place: Annotated[Place, Resolve(ask_place)], nights: Annotated[Nights, Resolve(ask_nights)]
) -> Elicit[Confirmed]:
    return Elicit(f"{nights.nights} nights in {place.city}: book?", Confirmed)


@server.tool()
async def book_trip(
    place: Annotated[Place, Resolve(ask_place)],
    nights: Annotated[Nights, Resolve(ask_nights)],
    confirmed: Annotated[Confirmed, Resolve(ask_confirmation)],
    nonce: str = "-",
) -> str:
    """Asks three things, one after the other: each depends on the one before."""
    if not confirmed.confirmed:
        return "nothing booked"
    done[nonce] += 1
    return f"{nights.nights} nights in {place.city}"


@server.tool()
async def link_account(
    account: str, ctx: Context[Any, Any], nonce: str = "-"
) -> str | InputRequiredResult:
    """Asks for a form and a page to be opened, in one round."""
    answers = ctx.input_responses
    if answers is None:
        label = {"type": "object", "properties": {"label": {"type": "string"}}}
        form = ElicitRequestFormParams(message="Name this link", requested_schema=label)
        page = ElicitRequestURLParams(message=f"Sign in as {account}", url=ACCOUNT_PAGE)
        return InputRequiredResult(
            input_requests={
                "label": ElicitRequest(params=form),
                "page": ElicitRequest(params=page),
            },
            request_state=f"linking {account}",
        )
    if ctx.request_state != f"linking {account}":
        raise ToolError("this is not the account that was asked about")
    given = [answers[key] for key in ("label", "page")]
    if not all(isinstance(one, ElicitResult) and one.action == "accept" for one in given):
        return "not linked"
    done[nonce] += 1
    return f"{account} is linked as {getattr(given[0], 'content', None)}"


@server.custom_route("/side-effects", methods=["GET"])
async def side_effects(request: Request) -> JSONResponse:
    """What was really done, by nonce."""
    return JSONResponse({"by_nonce": dict(done)})


if __name__ == "__main__":
    uvicorn.run(server.streamable_http_app(), port=int(sys.argv[1]), log_level="warning")
