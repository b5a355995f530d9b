"""JSON from a stranger: strict and bounded."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.mcp.jsontext import BadJson, canonical, parse, plain, storable
from mcpdesk.mcp.replies import ReplyProblem

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)  # fmt: skip


def _problem(text: bytes) -> ReplyProblem:
    with pytest.raises(BadJson) as bad:
        parse(text)
    return bad.value.problem


@given(JSON)
def test_what_json_can_say_is_read_as_it_was_meant(value: object) -> None:
    assert parse(json.dumps(value).encode()) == (value, False)
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == (value, False)


@given(st.binary())
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    try:
        parse(text)
    except BadJson as bad:
        assert bad.problem in ReplyProblem


@given(st.lists(st.sampled_from([b"[", b"]", b"{", b"}", b'"', b"\\", b"a", b":", b",", b"1"])))
def test_any_brackets_and_quotes_are_read_or_refused(pieces: list[bytes]) -> None:
    text = b"".join(pieces) * 20
    try:
        parse(text)
    except BadJson as bad:
        assert bad.problem in (ReplyProblem.NOT_JSON, ReplyProblem.TOO_DEEP)


@pytest.mark.parametrize("opening, closing", [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_ends_at_64_levels(opening: bytes, closing: bytes) -> None:
    assert parse(opening * 64 + b"1" + closing * 64)
    assert _problem(opening * 65 + b"1" + closing * 65) is ReplyProblem.TOO_DEEP


def test_nesting_is_refused_whatever_the_recursion_limit_is() -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        assert _problem(b"[" * 1_000_000) is ReplyProblem.TOO_DEEP
    finally:
        sys.setrecursionlimit(limit)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    value, _ = parse(b"[" + b",".join([b"[]"] * 1000) + b"]")
    assert value == [[]] * 1000


def test_brackets_within_text_are_not_nesting() -> None:
    text = json.dumps("[" * 1000 + '"' + "{" * 1000 + "\\")
    assert parse(text.encode())


def test_an_open_string_full_of_quotes_is_refused_in_linear_time() -> None:
    assert _problem(b"[" * 65 + b'"' + b'\\"' * 2_000_000) is ReplyProblem.TOO_DEEP


@pytest.mark.parametrize("text", [b"NaN", b"[Infinity]", b'{"a": -Infinity}', b"1e999", b"-1e999"])
def test_numbers_that_are_none_are_refused(text: bytes) -> None:
    assert _problem(text) is ReplyProblem.NOT_JSON


def test_a_number_of_thousands_of_digits_is_refused_without_an_exception() -> None:
    assert _problem(b"9" * 100_000) is ReplyProblem.NOT_JSON
    assert parse(b"9" * 4000)[0] == 10**4000 - 1


@pytest.mark.parametrize("text", [b"", b"{", b'{"a" 1}', b"{'a': 1}", b"[1,]", b"1 2", b"nul"])
def test_what_is_not_json_is_refused(text: bytes) -> None:
    assert _problem(text) is ReplyProblem.NOT_JSON


def test_bytes_that_are_not_utf8_are_refused() -> None:
    assert _problem(b'"\xff"') is ReplyProblem.NOT_UTF8
    assert _problem('"ä"'.encode("utf-16")) is ReplyProblem.NOT_UTF8


def test_of_names_that_come_twice_the_last_counts_and_it_is_told() -> None:
    assert parse(b'{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}') == ({"a": 3, "b": {"c": 2}}, True)


def test_lone_surrogates_and_nul_are_text_like_any_other() -> None:
    assert parse(rb'"\ud800 \u0000"') == ("\ud800 \x00", False)


@given(JSON)
def test_the_canonical_form_reads_back_and_does_not_depend_on_order(value: object) -> None:
    text = canonical(value)
    assert text.isascii()
    assert json.loads(text) == value
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})


@given(st.text())
def test_plain_text_can_be_stored_and_is_left_alone_where_it_could_before(text: str) -> None:
    shown = plain(text)
    assert storable(shown)
    assert shown.encode().decode() == shown
    assert shown == text or not storable(text)


def test_what_cannot_be_stored_is_made_visible() -> None:
    assert plain("a\x00b\ud800c") == "a\u2400b\ufffdc"
