"""Arguments as rows: every one of them, nothing cut, nothing that passes for something else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals import tree
from approvals.tree import Row

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=10,
)


def test_what_is_nested_stands_below_its_name() -> None:
    assert tree.rows({"a": 1, "b": {"c": [True, None]}}) == [
        Row("a", "1"),
        Row("b", ""),
        Row("c", "", 1),
        Row("1", "true", 2),
        Row("2", "null", 2),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("true", '"true"'),
        (True, "true"),
        ("", '""'),
        ({}, "{}"),
        ([], "[]"),
        ("{}", '"{}"'),
        ("x", "x"),
        ('"x"', '"\\"x\\""'),
        (0, "0"),
        ("5000", '"5000"'),
        ("-1.5e3", '"-1.5e3"'),
        ("2026-11-29", "2026-11-29"),
        ("10 %", "10 %"),
    ],
)
def test_a_text_does_not_pass_for_another_kind_of_value(value: Any, text: str) -> None:
    assert tree.rows({"a": value}) == [Row("a", text)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("prod ", '"prod "'),
        (" /", '" /"'),
        ("   ", '"   "'),
        ("\n\n", r'"\n\n"'),
        ("a\nb\n", "a\nb\n"),
    ],
)
def test_spaces_that_nobody_would_see_are_seen(value: str, text: str) -> None:
    assert tree.rows({"a": value}) == [Row("a", text)]


@pytest.mark.parametrize("value", [None, {}])
def test_no_arguments_are_no_rows(value: Any) -> None:
    assert tree.rows(value) == []


def test_a_long_value_is_folded_and_whole() -> None:
    [row] = tree.rows({"a": "x" * 301})
    assert row.is_long
    assert row.text == "x" * 301
    assert row.preview == "x" * tree.PREVIEW_CHARS
    assert not tree.rows({"a": "x" * 300})[0].is_long


def test_a_value_of_many_short_lines_is_folded() -> None:
    assert tree.rows({"a": "x\n" * 9})[0].is_long


def test_too_many_rows_become_one_that_has_to_be_opened() -> None:
    [row] = tree.rows({str(n): n for n in range(tree.MAX_ROWS + 1)})
    assert row.is_long
    assert f'"{tree.MAX_ROWS}": {tree.MAX_ROWS}' in row.text


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4))
def test_every_name_has_a_row(value: dict[str, Any]) -> None:
    names = [row.name for row in tree.rows(value) if row.depth == 0]
    assert [_read(name, key) for name, key in zip(names, value, strict=True)] == list(value)


def _read(name: str, key: str) -> str:
    """The name that a row shows, read as a person reads it: in quotes it is JSON."""
    return name if name == key else json.loads(name)


@pytest.mark.parametrize("name", ["", " a", "a ", "a  b", "a\nb", "\u2003"])
def test_no_name_passes_for_another_by_spaces_that_nobody_sees(name: str) -> None:
    assert tree.rows({name: 1}) == [Row(json.dumps(name, ensure_ascii=False), "1")]


def test_a_name_deeper_than_rows_are_indented_says_what_it_stands_in() -> None:
    value: Any = {"h": 1, "l" * 50: {"i": 2}}
    for name in "gfedcba":
        value = {name: value}
    found = tree.rows(value)[5:]
    assert [(row.name, row.indent) for row in found] == [
        ("f", 5),
        ("g", 6),
        ("g › h", 6),
        (f"g › {'l' * 50}", 6),
        (f"{'l' * 40}… › i", 6),
    ]
