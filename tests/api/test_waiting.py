"""Answers that are held back: for whom, how long, on what they go out, and at what cost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import waiting
from mcpdesk.api.callers import ASKED_AGAIN
from mcpdesk.api.waiting import UNSETTLED, HeldAnswers

pytestmark = pytest.mark.asyncio

OPERATION = "0f0e0d0c-0000-4000-8000-000000000001"
MARK = (UNSETTLED.lower().encode(), f"7 {OPERATION}".encode())


class Layer:
    """A channel layer of one process."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, asyncio.Queue[Any]]] = {}

    async def new_channel(self) -> str:
        return f"c{sum(map(len, self.groups.values()))}"

    async def group_add(self, group: str, channel: str) -> None:
        self.groups.setdefault(group, {})[channel] = asyncio.Queue()

    async def group_discard(self, group: str, channel: str) -> None:
        self.groups.get(group, {}).pop(channel, None)

    async def receive(self, channel: str) -> Any:
        return await next(g[channel] for g in self.groups.values() if channel in g).get()

    def hint(self, **ids: Any) -> None:
        for queue in self.groups.get("team.7", {}).values():
            queue.put_nowait({"type": "live.change", **ids})


class Desk:
    """What stands behind: it answers at once, and says whether there is something to say."""

    def __init__(self) -> None:
        self.settled = False
        self.asked: list[dict[str, Any]] = []
        self.status = 200

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope)
        status = 202 if scope["method"] == "POST" else self.status
        headers = [(b"content-type", b"application/json")] + ([] if self.settled else [MARK])
        if scope["method"] == "POST":
            headers.append((b"location", b"/there"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        body = b"settled" if self.settled else b"not yet"
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> Layer:
    layer = Layer()
    monkeypatch.setattr(waiting, "get_channel_layer", lambda: layer)
    return layer


def _scope(query: str, method: str = "GET", path: str = f"/api/v1/operations/{OPERATION}") -> Any:
    headers = [(b"authorization", b"Bearer x"), (b"content-length", b"2")]
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": headers,
    }


@asynccontextmanager
async def _asking(
    desk: Desk, scope: Any, held: HeldAnswers | None = None
) -> AsyncIterator[tuple[Any, list[Any], Callable[[], None]]]:
    """A request under way: its task, what was sent, and how its caller hangs up."""
    sent: list[Any] = []
    gone = asyncio.Event()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    task = asyncio.create_task((held or HeldAnswers(desk))(scope, receive, send))
    try:
        yield task, sent, gone.set
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


async def test_what_is_settled_is_answered_at_once(desk: Desk, layer: Layer) -> None:
    desk.settled = True
    async with _asking(desk, _scope("wait=30")) as (task, sent, _):
        await asyncio.wait_for(task, 5)
    assert (sent[0]["status"], sent[1]["body"], len(desk.asked)) == (200, b"settled", 1)


async def test_a_hint_brings_the_answer_and_the_mark_stays_inside(desk: Desk, layer: Layer) -> None:
    async with _asking(desk, _scope("wait=30")) as (task, sent, _):
        await _until(lambda: layer.groups.get("team.7"))
        await _until(lambda: len(desk.asked) >= 3)
        assert sent == []
        desk.settled = True
        layer.hint(operation=OPERATION)
        await asyncio.wait_for(task, 5)
    assert sent[1]["body"] == b"settled"
    assert MARK not in sent[0]["headers"]
    assert layer.groups["team.7"] == {}


async def test_a_hint_about_something_else_asks_nobody(desk: Desk, layer: Layer) -> None:
    async with _asking(desk, _scope("wait=30")):
        await _until(lambda: len(desk.asked) >= 3)
        asked = len(desk.asked)
        layer.hint(operation="another")
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(desk.asked) == asked


async def test_it_is_asked_again_as_the_same_caller_and_not_counted(
    desk: Desk, layer: Layer
) -> None:
    scope = _scope("wait=30&until=end&tool=x", "POST", "/api/v1/operations")
    async with _asking(desk, scope):
        await _until(lambda: len(desk.asked) >= 2)
    first, again = desk.asked[:2]
    assert ASKED_AGAIN not in first
    assert again[ASKED_AGAIN] is Scope.START
    assert (again["method"], again["path"]) == ("GET", f"/api/v1/operations/{OPERATION}")
    assert again["query_string"] == b"wait=30&until=end"
    assert again["headers"] == [(b"authorization", b"Bearer x")]


async def test_only_so_many_answers_of_a_token_are_held(
    desk: Desk, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is asked again every few seconds, past the limit of the token's requests."""
    monkeypatch.setattr(waiting, "MOST_HELD", 1)
    held = HeldAnswers(desk)
    async with _asking(desk, _scope("wait=30"), held) as (first, _, hang_up):
        await _until(lambda: layer.groups.get("team.7"))
        async with _asking(desk, _scope("wait=30"), held) as (second, sent, _):
            await asyncio.wait_for(second, 5)
        assert (sent[1]["body"], MARK in sent[0]["headers"]) == (b"not yet", False)
        other = _scope("wait=30")
        other["headers"] = [(b"authorization", b"Bearer y")]
        async with _asking(desk, other, held) as (third, _, _):
            await _until(lambda: len(layer.groups["team.7"]) == 2)
            assert not first.done()
            assert not third.done()
        hang_up()
        await asyncio.wait_for(first, 5)
    async with _asking(desk, _scope("wait=30"), held):
        await _until(lambda: layer.groups.get("team.7"))


@pytest.mark.parametrize("written", [b"bearer x", b"BEARER   x", b"Bearer x "])
async def test_a_token_is_one_token_however_its_header_is_written(
    desk: Desk, layer: Layer, monkeypatch: pytest.MonkeyPatch, written: bytes
) -> None:
    monkeypatch.setattr(waiting, "MOST_HELD", 1)
    held = HeldAnswers(desk)
    same = _scope("wait=30")
    same["headers"] = [(b"authorization", written)]
    async with _asking(desk, _scope("wait=30"), held) as (first, _, _):
        await _until(lambda: layer.groups.get("team.7"))
        async with _asking(desk, same, held) as (second, sent, _):
            await asyncio.wait_for(second, 5)
        assert (sent[1]["body"], first.done()) == (b"not yet", False)


async def test_a_start_keeps_its_status_and_says_where_it_is(desk: Desk, layer: Layer) -> None:
    async with _asking(desk, _scope("wait=30", "POST", "/api/v1/operations")) as (task, sent, _):
        await _until(lambda: len(desk.asked) >= 2)
        desk.settled = True
        layer.hint(operation=OPERATION)
        await asyncio.wait_for(task, 5)
    assert sent[0]["status"] == 202
    assert (b"location", b"/there") in sent[0]["headers"]
    assert sent[1]["body"] == b"settled"


async def test_whose_token_was_revoked_meanwhile_is_told_so(desk: Desk, layer: Layer) -> None:
    async with _asking(desk, _scope("wait=30")) as (task, sent, _):
        await _until(lambda: len(desk.asked) >= 3)
        desk.status, desk.settled = 401, True
        layer.hint(operation=None, approval=None, server=None)
        await asyncio.wait_for(task, 5)
    assert sent[0]["status"] == 401


async def test_the_time_is_up(desk: Desk, layer: Layer) -> None:
    async with _asking(desk, _scope("wait=1")) as (task, sent, _):
        await asyncio.wait_for(task, 5)
    assert (sent[0]["status"], sent[1]["body"]) == (200, b"not yet")
    assert MARK not in sent[0]["headers"]


async def test_who_hangs_up_is_not_waited_for(desk: Desk, layer: Layer) -> None:
    async with _asking(desk, _scope("wait=30")) as (task, sent, hang_up):
        await _until(lambda: len(desk.asked) >= 2)
        hang_up()
        await asyncio.wait_for(task, 5)
    assert sent == []
    assert layer.groups["team.7"] == {}


async def test_without_a_channel_layer_it_is_looked_at_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Layer):
        async def group_add(self, group: str, channel: str) -> None:
            raise OSError("no layer")

    monkeypatch.setattr(waiting, "get_channel_layer", Broken)
    monkeypatch.setattr(waiting, "_LOOKS_AGAIN_S", 0.01)
    async with _asking(desk, _scope("wait=30")) as (task, sent, _):
        await _until(lambda: len(desk.asked) >= 4)
        desk.settled = True
        await asyncio.wait_for(task, 5)
    assert sent[1]["body"] == b"settled"


@pytest.mark.parametrize("query", ["", "wait=0", "wait=-1", "wait=abc", "wait=9999", "tool=wait"])
async def test_what_makes_no_wait_passes_by(desk: Desk, layer: Layer, query: str) -> None:
    async with _asking(desk, _scope(query)) as (task, sent, _):
        await asyncio.wait_for(task, 5)
    assert (len(desk.asked), len(sent)) == (1, 2)


async def test_other_addresses_are_never_held(desk: Desk, layer: Layer) -> None:
    async with _asking(desk, _scope("wait=30", path="/inbox/")) as (task, _, _):
        await asyncio.wait_for(task, 5)
    assert len(desk.asked) == 1
