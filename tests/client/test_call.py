"""`./desk call`: what it says, where, and with which exit status."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcpdesk.client import Desk, call
from mcpdesk.client.call import Exit
from mcpdesk.embedded.locations import DEFAULT_BIND
from tests.client.test_desk import ASKED, DONE, OPERATION

ITEM = {"id": "i", "kind": "gate", "links": {"self": "", "page": "https://desk/inbox/i/"}}
WAITING = {**ASKED, "words": "Waiting for Anna", "waiting": [ITEM]}
RESULT = {"content": [{"type": "text", "text": "deployed 43"}]}


class Played:
    """A desk that answers so, one after the other; the last answer stays."""

    def __init__(self, *answers: dict[str, Any] | httpx.Response) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    @property
    def started(self) -> Any:
        return json.loads(self.asked[0].content)


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPDESK_TOKEN", "mdk_x")


def _run(monkeypatch: pytest.MonkeyPatch, played: Played, *arguments: str) -> int:
    class PlayedDesk(Desk):
        def __init__(self, url: str, token: str, **more: Any) -> None:
            super().__init__(url, token, transport=httpx.MockTransport(played), **more)

    monkeypatch.setattr(call, "Desk", PlayedDesk)
    return call.main(["builds", "deploy", "--patience", "0", *arguments])


def test_the_result_is_on_stdout_and_everything_else_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = {**DONE, "payload_visible": True, "result": RESULT}
    played = Played(OPERATION, OPERATION, WAITING, done)
    assert _run(monkeypatch, played, "--wait", "--key", "k") == Exit.DONE
    said = capsys.readouterr()
    assert json.loads(said.out) == RESULT
    assert "Waiting for Anna: https://desk/inbox/i/" in said.err
    assert said.err.count("https://desk/operations/op/") == 1


#: ESC [ 2 J, the same in one character (C1), a change of direction, half a character, DEL.
STEERS = "\x1b[2Jclear \x9b2Jclear \u202egnp\u202c half \ud800 \x7f"


def test_what_a_tool_says_steers_no_terminal_and_arrives_as_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = {"content": [{"type": "text", "text": f"é\n{STEERS}", STEERS: 1}]}
    said = {"words": STEERS, "message": f"one\n{STEERS}", "explanation": STEERS, "tool": STEERS}
    done = {**DONE, **said, "outcome": "failed", "payload_visible": True, "result": result}
    # as it comes over the wire: escaped, so that half a character is possible
    played = Played(OPERATION, httpx.Response(200, content=json.dumps(done).encode()))
    assert _run(monkeypatch, played, "--wait") == Exit.FAILED
    shown = capsys.readouterr()
    assert all(line.isprintable() for line in [*shown.err.splitlines(), shown.out.rstrip("\n")])
    assert json.loads(shown.out) == result
    assert "é" in shown.out


def test_a_refusal_steers_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = {"errors": [{"field": "a\x1b[1m", "detail": STEERS}]}
    refused = httpx.Response(422, content=json.dumps(problem).encode())
    assert _run(monkeypatch, Played(refused)) == Exit.REFUSED
    assert all(line.isprintable() for line in capsys.readouterr().err.split("\n"))


def test_a_token_is_never_an_argument(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        _run(monkeypatch, Played(OPERATION), "--token", "mdk_x")
    assert ended.value.code == Exit.USAGE


def test_without_wait_it_says_what_was_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, Played(OPERATION), "--key", "k") == 0
    assert json.loads(capsys.readouterr().out) == {
        "id": "op",
        "state": "working",
        "page": "https://desk/operations/op/",
    }


def test_a_key_of_its_own_is_said_so_that_it_can_be_run_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    played = Played(OPERATION)
    _run(monkeypatch, played)
    assert f"key {played.asked[0].headers['Idempotency-Key']}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("succeeded", Exit.DONE),
        ("tool_error", Exit.TOOL_ERROR),
        ("failed", Exit.FAILED),
        ("cancelled", Exit.CANCELLED),
        ("denied", Exit.DENIED),
        ("expired", Exit.EXPIRED),
    ],
)
def test_each_outcome_has_its_exit_status(
    monkeypatch: pytest.MonkeyPatch, outcome: str, status: Exit
) -> None:
    played = Played(OPERATION, {**DONE, "outcome": outcome})
    assert _run(monkeypatch, played, "--wait") == status


def test_what_needs_an_operator_is_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {**OPERATION, "state": "lost", "needs": "operator"}
    assert _run(monkeypatch, Played(OPERATION, lost), "--wait") == Exit.NEEDS_OPERATOR


def test_a_refusal_a_desk_that_is_away_and_the_end_of_patience_differ(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = httpx.Response(403, json={"detail": "Rule 2 says no."})
    assert _run(monkeypatch, Played(refused)) == Exit.REFUSED
    assert "Rule 2 says no." in capsys.readouterr().err
    assert _run(monkeypatch, Played(httpx.Response(503))) == Exit.UNREACHABLE
    assert _run(monkeypatch, Played(OPERATION), "--wait", "--timeout", "0") == Exit.TIMEOUT


def test_arguments_are_text_json_and_a_whole_object(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(OPERATION)
    given = ["--json", '{"a": 1, "b": 2}', "--arg", "b=3", "--arg", "c:=[4]", "--arg", "d=e=f"]
    _run(monkeypatch, played, *given, "--reason", "why")
    assert played.started["arguments"] == {"a": 1, "b": "3", "c": [4], "d": "e=f"}
    assert played.started["reason"] == "why"


@pytest.mark.parametrize(
    "given",
    [["--json", "{"], ["--json", "[]"], ["--arg", "a"], ["--arg", ":=1"], ["--arg", "a:=x"]],
)
def test_arguments_that_are_none_start_nothing(
    monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    played = Played(OPERATION)
    with pytest.raises(SystemExit) as ended:
        _run(monkeypatch, played, *given)
    assert ended.value.code == Exit.USAGE
    assert played.asked == []


@pytest.mark.parametrize("url", ["desk.example", "ftp://desk.example", "https://", "http://[x"])
def test_what_is_no_address_of_a_desk_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        _run(monkeypatch, Played(OPERATION), "--url", url)
    assert ended.value.code == Exit.USAGE


@pytest.mark.parametrize(
    "url, warned",
    [
        ("http://desk.example", True),
        ("https://desk.example", False),
        ("http://127.0.0.1:8000", False),
        ("http://[::1]:8000", False),
        ("http://localhost:8000", False),
    ],
)
def test_a_token_that_goes_through_a_network_in_clear_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str, warned: bool
) -> None:
    _run(monkeypatch, Played(OPERATION), "--url", url)
    assert ("in clear" in capsys.readouterr().err) is warned


@pytest.mark.parametrize("url", [None, ""])
def test_without_an_address_it_is_the_desk_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str | None
) -> None:
    monkeypatch.delenv("MCPDESK_URL", raising=False)
    if url is not None:
        monkeypatch.setenv("MCPDESK_URL", url)
    played = Played(httpx.Response(503))
    assert _run(monkeypatch, played) == Exit.UNREACHABLE
    assert played.asked[0].url.netloc.decode() == DEFAULT_BIND
    assert f"http://{DEFAULT_BIND} cannot be reached: it answers 503" in capsys.readouterr().err


def test_without_a_token_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCPDESK_TOKEN")
    with pytest.raises(SystemExit) as ended:
        _run(monkeypatch, Played(OPERATION))
    assert ended.value.code == Exit.USAGE


def test_a_servers_words_do_not_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = {**DONE, "message": "\x1b[2Jgone\r\n", "payload_visible": True, "result": "\x1b[2J"}
    _run(monkeypatch, Played(OPERATION, done), "--wait")
    said = capsys.readouterr()
    assert "\x1b" not in said.err + said.out


def test_the_documented_table_of_exit_statuses_is_the_one_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
    documented = {int(status) for status in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert documented == set(Exit)
