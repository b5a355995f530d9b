"""Every failure is problem details, whoever made it, and repeats nothing that was sent."""

from typing import Any

import pytest
from django.test import Client

from mcpdesk.accounts.models import Team
from tests.api.calling import PROBLEM, ROOT, Caller, person
from tests.factories import ServerFactory, TeamFactory

pytestmark = pytest.mark.django_db
KEY = {"Idempotency-Key": "k"}


@pytest.fixture
def team() -> Team:
    return TeamFactory()


@pytest.fixture
def caller(team: Team) -> Caller:
    ServerFactory(team=team, name="s")
    return person(team)


def _problem(answer: Any, status: int) -> dict[str, Any]:
    assert (answer.status_code, answer["Content-Type"]) == (status, PROBLEM)
    body: dict[str, Any] = answer.json()
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    return body


def test_an_address_that_is_none(caller: Caller) -> None:
    _problem(caller.get("/nothing"), 404)
    _problem(caller.get("/"), 404)
    _problem(caller.get("/operations/"), 404)
    _problem(caller.get("/operations/no-id"), 404)


def test_an_operation_that_is_none(caller: Caller) -> None:
    _problem(caller.get("/operations/00000000-0000-0000-0000-000000000000"), 404)


def test_a_method_that_is_not_taken(caller: Caller) -> None:
    answer = Client().delete(f"{ROOT}/operations", headers=caller.headers)
    _problem(answer, 405)
    assert set(answer["Allow"].split(", ")) == {"GET", "POST"}


def test_a_body_that_is_no_json(caller: Caller) -> None:
    for body in ("{", "[" * 100_000, "\x00", '{"a": NaN'):
        answer = Client().post(
            f"{ROOT}/operations", body, "application/json", headers={**caller.headers, **KEY}
        )
        _problem(answer, 400)


def test_a_body_that_says_it_is_something_else(caller: Caller) -> None:
    form = Client().post(f"{ROOT}/operations", {"server": "s"}, headers={**caller.headers, **KEY})
    _problem(form, 415)


def test_fields_that_mean_nothing_are_named_and_not_repeated(caller: Caller) -> None:
    answer = caller.start(server="s", tool="", argument={"password": "hunter2"})
    body = _problem(answer, 422)
    assert {error["field"] for error in body["errors"]} == {"tool", "argument"}
    assert "hunter2" not in answer.content.decode()


def test_a_nul_anywhere_is_the_callers_mistake(caller: Caller) -> None:
    _problem(Client().get(f"{ROOT}/operations?tool=%00", headers=caller.headers), 400)
    _problem(caller.start(server="s", tool="a\x00b"), 422)
    _problem(caller.start(server="s", tool="t", arguments={"a": "\ud800"}), 422)


def test_no_key_is_refused(caller: Caller) -> None:
    body = _problem(caller.post("/operations", {"server": "s", "tool": "t"}), 422)
    assert body["errors"][0]["field"] == "Idempotency-Key"


def test_a_mistake_of_ours_tells_nothing_of_itself(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr("mcpdesk.api.shown.server", breaks)
    client = Client(raise_request_exception=False)
    answer = client.get(f"{ROOT}/servers", headers=caller.headers)
    _problem(answer, 500)
    assert "hunter2" not in answer.content.decode()


def test_pages_keep_their_own_errors(db: None) -> None:
    assert Client().get("/nothing/")["Content-Type"].startswith("text/html")
