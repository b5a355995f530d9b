"""The client: what it repeats, what it raises, how it waits. The desk is played by a function."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from mcpdesk import client
from mcpdesk.client import Desk, sending
from mcpdesk.client.models import Operation

Play = Callable[[httpx.Request], httpx.Response]

OPERATION = {
    "id": "op",
    "server": "builds",
    "tool": "deploy",
    "state": "working",
    "words": "Running",
    "outcome": None,
    "needs": None,
    "started_by": "deploy-bot",
    "by_service": True,
    "reason": "",
    "created_at": "2026-11-29T14:00:00Z",
    "updated_at": "2026-11-29T14:00:00Z",
    "finished_at": None,
    "links": {"self": "https://desk/api/v1/operations/op", "page": "https://desk/operations/op/"},
    "waiting": [],
}
DONE = {**OPERATION, "state": "completed", "words": "Completed", "outcome": "succeeded"}
ASKED = {**OPERATION, "state": "input_required", "needs": "people"}


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time that passes only by sleeping; what was slept."""
    slept: list[float] = []
    monkeypatch.setattr(sending.time, "sleep", slept.append)
    monkeypatch.setattr(sending.time, "monotonic", lambda: sum(slept))
    return slept


def _desk(play: Play, **more: Any) -> Desk:
    return Desk("https://desk.example/", "mdk_x", transport=httpx.MockTransport(play), **more)


def _answers(*answers: httpx.Response | Exception) -> tuple[Play, list[httpx.Request]]:
    """A desk that answers so, one after the other, and what it was asked."""
    asked: list[httpx.Request] = []
    left: Iterator[httpx.Response | Exception] = iter(answers)

    def play(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return play, asked


def _problem(status: int, kind: str = "", **more: Any) -> httpx.Response:
    body = {"type": f"urn:mcpdesk:problem:{kind}", "detail": "No.", "status": status, **more}
    return httpx.Response(status, json=body)


def test_a_start_that_got_no_answer_is_repeated_with_the_same_key() -> None:
    play, asked = _answers(
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("late"),
        httpx.Response(503),
        httpx.Response(202, json=OPERATION),
    )
    assert _desk(play).start("builds", "deploy", {"a": 1}).id == "op"
    assert len({request.headers["Idempotency-Key"] for request in asked}) == 1
    assert len({request.content for request in asked}) == 1
    assert json.loads(asked[0].content)["arguments"] == {"a": 1}
    assert str(asked[0].url) == "https://desk.example/api/v1/operations"


def test_two_starts_without_a_key_are_two() -> None:
    play, asked = _answers(*[httpx.Response(202, json=OPERATION)] * 2)
    desk = _desk(play)
    desk.start("builds", "deploy")
    desk.start("builds", "deploy")
    assert len({request.headers["Idempotency-Key"] for request in asked}) == 2


def test_a_desk_that_stays_away_is_given_up_after_a_while(clock: list[float]) -> None:
    def play(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(client.Unreachable, match="refused"):
        _desk(play, patience_s=30).operation("op")
    assert sum(clock) <= 30
    assert len(clock) >= 4


def test_what_says_how_long_to_wait_is_waited_for_so_long(clock: list[float]) -> None:
    busy = httpx.Response(429, headers={"Retry-After": "7"}, json={})
    play, _ = _answers(busy, httpx.Response(200, json=OPERATION))
    _desk(play).operation("op")
    assert clock == [7.0]


def test_a_limit_that_takes_too_long_is_raised() -> None:
    busy = httpx.Response(429, headers={"Retry-After": "61"}, json={"detail": "Too many."})
    play, _ = _answers(busy)
    with pytest.raises(client.RateLimited, match="Too many"):
        _desk(play).operation("op")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, client.Unauthorized),
        (403, client.Forbidden),
        (404, client.NotFound),
        (409, client.Conflict),
        (422, client.Invalid),
        (500, client.ApiError),
    ],
)
def test_each_refusal_has_its_exception_and_is_not_repeated(
    status: int, error: type[client.ApiError]
) -> None:
    play, asked = _answers(
        _problem(status, "scope", errors=[{"field": "content.size", "detail": "Too large."}])
    )
    with pytest.raises(error) as raised:
        _desk(play).operation("op")
    assert (raised.value.status, raised.value.kind) == (status, "scope")
    assert raised.value.errors == {"content.size": "Too large."}
    assert len(asked) == 1


def test_what_is_no_desk_is_said_to_be_none() -> None:
    play, _ = _answers(httpx.Response(200, text="<html>"), httpx.Response(404, text="<html>"))
    desk = _desk(play)
    with pytest.raises(client.Unreachable):
        desk.operation("op")
    with pytest.raises(client.Unreachable, match=r"not answered by a desk \(status 404\)"):
        desk.operation("op")


def test_waiting_tells_what_it_meets_and_ends_with_the_end() -> None:
    play, asked = _answers(
        *[httpx.Response(200, json=one) for one in (OPERATION, ASKED, ASKED, OPERATION, DONE)]
    )
    met: list[Operation] = []
    found = _desk(play).wait("op", told=met.append)
    assert (found.outcome, found.ended) == ("succeeded", True)
    assert [one.state for one in met] == [
        "working",
        "input_required",
        "input_required",
        "working",
        "completed",
    ]
    # while nobody is asked it waits for the next question, else for the end
    held = [request.url.params.get("until") for request in asked]
    assert held == [None, "input", "end", "end", "input"]


def test_it_is_looked_at_soon_after_it_moved_and_seldom_while_it_does_not() -> None:
    builds, tests = ({**OPERATION, "message": said} for said in ("Building", "Testing"))
    seen = [builds] * 6 + [tests] * 3 + [ASKED] * 4 + [DONE]
    play, asked = _answers(*[httpx.Response(200, json=one) for one in seen])
    _desk(play).wait("op")
    held = [int(request.url.params["wait"]) for request in asked[1:]]
    assert held == [3, 6, 12, 24, 30, 30, 3, 6, 12, 3, 6, 10, 10]


def test_waiting_for_people_or_operators_can_be_enough() -> None:
    play, _ = _answers(httpx.Response(200, json=ASKED))
    assert _desk(play).wait("op", until="input").needs == "people"
    lost = {**OPERATION, "state": "lost", "needs": "operator"}
    play, _ = _answers(httpx.Response(200, json=lost))
    assert _desk(play).wait("op").needs == "operator"


def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000, 20))
    monkeypatch.setattr("mcpdesk.client.desk.time.monotonic", lambda: next(now))
    with pytest.raises(TimeoutError, match="Running, after 50 s"):
        _desk(lambda _: httpx.Response(200, json=OPERATION)).wait("op", timeout_s=50)


def test_lists_go_on_to_their_end() -> None:
    pages = [{"items": [OPERATION], "after": "c"}, {"items": [DONE], "after": ""}]
    play, asked = _answers(*[httpx.Response(200, json=page) for page in pages])
    assert len(list(_desk(play).operations(state="working"))) == 2
    assert asked[1].url.params["after"] == "c"
    assert asked[1].url.params["state"] == "working"


def test_the_log_is_followed_from_its_cursor(clock: list[float]) -> None:
    event = {
        "id": 5,
        "at": "2026-11-29T14:00:00Z",
        "kind": "k",
        "sentence": "s",
        "actor": "a",
        "operation_id": None,
        "approval_id": None,
        "data": {},
    }
    pages = [{"items": [], "after": 4}, {"items": [event], "after": 5}]
    play, asked = _answers(*[httpx.Response(200, json=page) for page in pages])
    assert next(_desk(play).events(4, follow_every_s=3)).id == 5
    assert [request.url.params["after"] for request in asked] == ["4", "4"]
    assert clock == [3]


def test_the_client_needs_nothing_of_the_desk() -> None:
    loaded = "import sys, mcpdesk.client; sys.exit('django' in sys.modules)"
    subprocess.run([sys.executable, "-c", loaded], check=True)


EXPORT = {
    "id": "ex",
    "subject": "operations",
    "format": "ndjson",
    "rows": 0,
    "created_at": "2026-11-29T14:00:00Z",
    "finished_at": None,
}


class _BreaksOff(httpx.SyncByteStream):
    """A file whose connection ends in the middle of its second line."""

    def __iter__(self) -> Iterator[bytes]:
        yield b'{"id": 1}\n{"id'
        raise httpx.ReadError("reset")


def test_an_export_that_breaks_off_goes_on_behind_its_last_whole_line() -> None:
    play, asked = _answers(
        httpx.Response(201, json=EXPORT),
        httpx.Response(200, stream=_BreaksOff()),
        httpx.Response(200, text='{"id": 2}\n{"id": 3}\n'),
    )
    desk = _desk(play)
    lines = list(desk.lines(desk.export("operations", {"tool": "deploy"})))
    assert [json.loads(line)["id"] for line in lines] == [1, 2, 3]
    assert asked[2].url.params["after"] == "1"


def test_an_export_that_brings_nothing_more_is_given_up_and_a_refusal_is_one() -> None:
    play, _ = _answers(
        httpx.Response(201, json=EXPORT), httpx.ConnectError("refused"), _problem(403, "role")
    )
    desk = _desk(play)
    export = desk.export("operations")
    with pytest.raises(client.Unreachable):
        list(desk.lines(export))
    with pytest.raises(client.Forbidden):
        list(desk.lines(export))


def test_a_repair_is_said_once_with_what_was_seen() -> None:
    about = {
        "operation_id": "op",
        "state": "lost",
        "broken": True,
        "known": [],
        "not_known": "",
        "choices": [],
        "needs_two": False,
        "proposed": None,
        "past": [],
        "seen": "abc",
    }
    play, asked = _answers(
        httpx.Response(200, json=about),
        httpx.Response(200, json={"came_to": "done", "repairs": about}),
        httpx.ReadTimeout("late"),
    )
    desk = _desk(play)
    read = desk.repairs("op")
    assert desk.repair(read, "record_failed", "nothing there") == "done"
    assert json.loads(asked[1].content)["seen"] == "abc"
    with pytest.raises(client.Unreachable):
        desk.repair(read, "record_failed", "nothing there")
    assert len(asked) == 3
