"""Input requests and the elicitations in them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.mcp.elicitation import (
    FormElicitation,
    InvalidElicitation,
    UrlElicitation,
    read_params,
)
from mcpdesk.mcp.inputs import InputRequest, read_input_requests
from tests.mcp.wire import form

URL = {"mode": "url", "message": "Sign in", "url": "https://example.com/x"}


def _asked(entry: Any, key: str = "a") -> InputRequest:
    (found,) = read_input_requests({key: entry})
    return found


def test_a_question_keeps_its_key_its_method_and_its_params() -> None:
    found = _asked(form())
    assert (found.key, found.method, found.problem) == ("a", "elicitation/create", None)
    assert found.params == form()["params"]


def test_questions_keep_the_order_in_which_they_came() -> None:
    keys = ["q", "b", "z", "a", "m", "c"]
    assert [one.key for one in read_input_requests({key: form() for key in keys})] == keys


def test_the_fingerprint_is_that_of_method_and_params_whatever_their_order() -> None:
    one, other = form(), form()
    other["params"] = dict(reversed(other["params"].items()))
    assert _asked(one).fingerprint == _asked(other, key="b").fingerprint
    assert _asked(one).fingerprint != _asked(form("Other?")).fingerprint
    assert len(_asked(one).fingerprint) == 64


@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list", "x/y", ""])
def test_what_the_desk_did_not_declare_is_kept_with_a_problem(method: str) -> None:
    found = _asked({"method": method, "params": {"a": 1}})
    assert found.params == {"a": 1}
    assert found.problem
    assert "does not offer" in found.problem


def test_a_method_that_no_revision_has_is_not_kept_in_the_servers_words() -> None:
    one, other = _asked({"method": "s3cret-of-the-caller"}), _asked({"method": "x"})
    assert one.method == other.method == "another method"
    assert one.fingerprint != other.fingerprint
    assert _asked({"method": "roots/list"}).method == "roots/list"


@pytest.mark.parametrize("entry", [None, 5, "text", [], {}, {"method": 5}, {"params": {}}])
def test_a_malformed_question_is_kept_with_a_problem(entry: Any) -> None:
    found = _asked(entry)
    assert (found.key, found.method, found.params) == ("a", "", {})
    assert found.problem


@pytest.mark.parametrize("params", [None, [], "text"])
def test_params_that_are_no_object_are_a_problem(params: Any) -> None:
    found = _asked({"method": "elicitation/create", "params": params})
    assert found.params == {}
    assert found.problem


def test_a_question_over_256_kib_is_kept_without_its_params() -> None:
    found = _asked(form("x" * 262_144))
    assert found.params == {}
    assert found.problem == "The question is bigger than 256 KiB."
    assert found.fingerprint != _asked(form("x" * 262_145)).fingerprint


def test_size_is_counted_in_utf8() -> None:
    assert _asked(form("世" * 80_000)).problem is None
    assert _asked(form("世" * 90_000)).problem


@pytest.mark.parametrize("key", ["x" * 513, "a\x00b", "\ud800"])
def test_a_key_that_cannot_be_kept_gets_a_stand_in_and_a_problem(key: str) -> None:
    found = _asked(form(), key)
    assert len(found.key) <= 512
    assert found.key.encode()
    assert found.problem


def test_two_long_keys_do_not_become_one() -> None:
    found = read_input_requests({"x" * 600: form(), "x" * 601: form()})
    assert len({asked.key for asked in found}) == 2


@pytest.mark.parametrize("key", ["", "x" * 512, "ключ", "a b\n"])
def test_any_other_key_stays_as_it_is(key: str) -> None:
    assert _asked(form(), key) == InputRequest(
        key, "elicitation/create", form()["params"], _asked(form()).fingerprint
    )


# elicitation


@pytest.mark.parametrize("mode", [{"mode": "form"}, {}])
def test_a_question_without_a_mode_is_a_form(mode: dict[str, str]) -> None:
    schema = {"type": "object", "properties": {}}
    found = read_params({"message": "Go?", "requestedSchema": schema} | mode)
    assert found == FormElicitation("Go?", schema)


def test_a_page_to_open_has_its_address() -> None:
    assert read_params(URL) == UrlElicitation("Sign in", "https://example.com/x", None)
    known = read_params(URL | {"elicitationId": "e1"})
    assert known == UrlElicitation("Sign in", "https://example.com/x", "e1")


@pytest.mark.parametrize("url", ["/relative", "javascript:alert(1)", "https://[broken", "words"])
def test_an_address_that_is_none_is_put_to_people_so_that_they_can_decline(url: str) -> None:
    assert read_params(URL | {"url": url}) == UrlElicitation("Sign in", url, None)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"message": 5, "requestedSchema": {}},
        {"message": "Go?"},
        {"message": "Go?", "requestedSchema": "text"},
        {"message": "Go?", "requestedSchema": None},
        {"message": "Go?", "mode": "voice", "requestedSchema": {}},
        {"message": "Go?", "mode": None, "requestedSchema": {}},
        URL | {"url": None},
        URL | {"url": ""},
        {"mode": "url", "url": "https://example.com/"},
    ],
)
def test_a_question_that_cannot_be_put_is_a_problem(params: dict[str, Any]) -> None:
    assert isinstance(read_params(params), InvalidElicitation)
    assert _asked({"method": "elicitation/create", "params": params}).problem


@given(
    st.dictionaries(
        st.sampled_from(["message", "mode", "url", "requestedSchema", "elicitationId"]),
        st.none() | st.text() | st.integers() | st.dictionaries(st.text(), st.text()),
    )
)
def test_any_params_are_a_form_a_page_or_a_problem(params: dict[str, Any]) -> None:
    found = read_params(params)
    assert isinstance(found, FormElicitation | UrlElicitation | InvalidElicitation)
