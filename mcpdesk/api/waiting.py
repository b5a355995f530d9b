"""Holds the answer to ?wait=N until there is something to say, in front of Django.

Django answers each request at once, and says in a header when there is nothing to say yet. Then the
answer is held back here, without a thread and without a connection to the database: it waits for
what the channel layer tells of the team, and the same request is asked again, as the same caller
and with every check anew (whose token was revoked meanwhile gets that for an answer). A hint that
is lost costs a few seconds.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from channels.layers import get_channel_layer
from django.http import HttpResponse

from mcpdesk.accounts.tokens import Scope
from mcpdesk.api.callers import ASKED_AGAIN, secret_in
from mcpdesk.api.middleware import ROOT
from mcpdesk.audit.announce import team_group
from tasks_monitor.models import Operation
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State

logger = logging.getLogger(__name__)

Application = Callable[..., Awaitable[Any]]
Message = dict[str, Any]
Headers = list[tuple[bytes, bytes]]

#: "team operation", between the view and this module; it never leaves the desk.
UNSETTLED: Final = "Mcpdesk-Unsettled"
_PATH: Final = f"{ROOT}operations"
MOST_S: Final = 60
#: Of one token, each web process holds so many answers at a time: each is asked again every few
#: seconds, and none of that counts against the token's limit.
MOST_HELD: Final = 100
#: Without any hint it is asked again after so long (s).
_LOOKS_AGAIN_S: Final = 5.0


class Until(StrEnum):
    """What a caller waits for."""

    INPUT = auto()
    END = auto()


_SETTLED: Final = {
    Until.END: TERMINAL | NEEDS_OPERATOR,
    Until.INPUT: TERMINAL | NEEDS_OPERATOR | {State.AWAITING_APPROVAL, State.INPUT_REQUIRED},
}


def unsettled(response: HttpResponse, operation: Operation, until: Until) -> None:
    """Mark an answer that is to be held back, where there is nothing to say yet."""
    if State(operation.state) not in _SETTLED[until]:
        response[UNSETTLED] = f"{operation.team_id} {operation.pk}"


@dataclass(slots=True)
class _Answer:
    """A whole answer, kept until it is clear whether it is sent."""

    status: int = 500
    headers: Headers = field(default_factory=list)
    body: bytes = b""

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        else:
            self.body += message.get("body", b"")

    def header(self, name: str) -> str:
        wanted = name.lower().encode()
        return next((v.decode("latin-1") for k, v in self.headers if k.lower() == wanted), "")

    async def send(self, send: Any) -> None:
        hidden = UNSETTLED.lower().encode()
        headers = [(name, value) for name, value in self.headers if name.lower() != hidden]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class HeldAnswers:
    """Passes requests on; those below /api/v1/operations that say ?wait= are held back here."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._of_tokens: Counter[str] = Counter()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        seconds = _seconds(scope)
        if not seconds:
            await self.application(scope, receive, send)
            return
        first = _Answer()
        await self.application(scope, receive, first.take)
        answer: _Answer | None = first
        if first.header(UNSETTLED):
            with self._counted(scope) as has_room:
                if has_room:
                    answer = await self._held(scope, receive, first, seconds)
        if answer is not None:
            await answer.send(send)

    @contextmanager
    def _counted(self, scope: Message) -> Iterator[bool]:
        """Whether one more answer can be held for the token; it is counted as long as it is."""
        # by the token alone: one header can be written in any number of ways
        token = secret_in(dict(scope["headers"]).get(b"authorization", b"").decode("latin-1"))
        self._of_tokens[token] += 1
        try:
            yield self._of_tokens[token] <= MOST_HELD
        finally:
            self._of_tokens[token] -= 1
            # nothing is kept of tokens that are not waiting
            self._of_tokens += Counter()

    async def _held(
        self, scope: Message, receive: Any, first: _Answer, seconds: float
    ) -> "_Answer | None":
        """The answer at the end of the wait; None: whoever asked has gone."""
        waiting = asyncio.ensure_future(self._wait(scope, first, seconds))
        gone = asyncio.ensure_future(_gone(receive))
        done, pending = await asyncio.wait((waiting, gone), return_when=asyncio.FIRST_COMPLETED)
        for one in pending:
            one.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        return waiting.result() if waiting in done else None

    async def _wait(self, scope: Message, first: _Answer, seconds: float) -> _Answer:
        """Ask again at each hint until there is something to say, or the time is over."""
        team_id, operation_id = first.header(UNSETTLED).split()
        ends_at = asyncio.get_running_loop().time() + seconds
        async with _hints(int(team_id), operation_id) as hinted:
            while True:
                hinted.clear()
                # the first time at once: it may have moved before a hint could be heard
                latest = await self._ask(scope, operation_id)
                left = ends_at - asyncio.get_running_loop().time()
                if not latest.header(UNSETTLED) or left <= 0:
                    return _instead(first, latest)
                await _either(hinted, min(left, _LOOKS_AGAIN_S))

    async def _ask(self, scope: Message, operation_id: str) -> _Answer:
        answer = _Answer()
        await self.application(_again(scope, operation_id), _no_body(), answer.take)
        return answer


def _instead(first: _Answer, latest: _Answer) -> _Answer:
    """The latest body under the status and the Location of the request that was made."""
    if latest.status != 200:
        return latest
    location = [(name, value) for name, value in first.headers if name.lower() == b"location"]
    kept = [(name, value) for name, value in first.headers if name.lower().startswith(b"ratelimit")]
    return _Answer(first.status, latest.headers + location + kept, latest.body)


def _seconds(scope: Message) -> float:
    """How long the answer is to be held (s); what makes no sense is left to the route to refuse."""
    if scope["type"] != "http" or not scope["path"].startswith(_PATH):
        return 0.0
    wait = dict(_query(scope)).get("wait", "")
    return min(int(wait), MOST_S) if wait.isdecimal() and len(wait) < 4 else 0.0


def _query(scope: Message) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"))


def _again(scope: Message, operation_id: str) -> Message:
    """The request that reads the operation, from the same caller."""
    path = f"{_PATH}/{operation_id}"
    kept = {name: value for name, value in _query(scope) if name in ("wait", "until")}
    left_out = (b"content-length", b"content-type", b"transfer-encoding", b"idempotency-key")
    return {
        **scope,
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": urlencode(kept).encode(),
        "headers": [pair for pair in scope["headers"] if pair[0].lower() not in left_out],
        # who may start may have the answer to that, and needs no right to read for it
        ASKED_AGAIN: Scope.START if scope["method"] == "POST" else Scope.READ,
    }


def _no_body() -> Callable[[], Awaitable[Message]]:
    """What a request without a body receives; its caller does not hang up."""
    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.Event().wait()
        return messages.pop()

    return receive


async def _gone(receive: Any) -> None:
    """Returns when the caller has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _either(hinted: asyncio.Event, seconds: float) -> None:
    """Until there is a hint, or so long (s)."""
    with suppress(TimeoutError):
        await asyncio.wait_for(hinted.wait(), seconds)


@asynccontextmanager
async def _hints(team_id: int, operation_id: str) -> AsyncIterator[asyncio.Event]:
    """An event that is set at each change of the operation."""
    hinted = asyncio.Event()
    listening = asyncio.create_task(_listen(team_group(team_id), operation_id, hinted))
    try:
        yield hinted
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _listen(group: str, operation_id: str, hinted: asyncio.Event) -> None:
    """Without a channel layer nothing is heard, and the operation is looked at regardless."""
    layer = get_channel_layer()
    channel = await layer.new_channel()
    try:
        await layer.group_add(group, channel)
        hinted.set()
        while True:
            if _concerns(await layer.receive(channel), operation_id):
                hinted.set()
    except Exception:
        logger.exception("a held answer hears no hints")
    finally:
        await layer.group_discard(group, channel)


def _concerns(message: Message, operation_id: str) -> bool:
    """A change of this operation, or one that may be about people: a role, a token's person."""
    names = [message.get(name) for name in ("operation", "approval", "server")]
    return message.get("operation") == operation_id or not any(names)
