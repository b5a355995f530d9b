"""Arguments as rows: every one of them, nothing cut, nothing that passes for something else."""

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
    assert names == list(value)
