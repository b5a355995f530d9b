"""What differs between two calls: said whole, said once, and bounded."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.differences import (
    EXCERPT_CHARS,
    MAX_LINES,
    Change,
    Differences,
    Line,
    differences,
)

_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="."), min_size=1, max_size=5)
_SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6)
_VALUES = st.recursive(
    _SCALARS,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(_NAMES, part, max_size=4),
    max_leaves=12,
)
_ARGUMENTS = st.dictionaries(_NAMES, _VALUES, max_size=5)


def _sent(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _lines(before: Any, after: Any) -> list[Line]:
    return list(differences(before, after).lines)


@given(_ARGUMENTS, _ARGUMENTS)
def test_nothing_is_said_exactly_where_the_same_would_be_sent(before: Any, after: Any) -> None:
    assert differences(before, after).none is (_sent(before) == _sent(after))


@given(_ARGUMENTS, _ARGUMENTS)
def test_there_and_back_names_the_same_places(before: Any, after: Any) -> None:
    back = {Change.ADDED: Change.REMOVED, Change.REMOVED: Change.ADDED}
    there = {(line.path, line.change, line.before, line.after) for line in _lines(before, after)}
    assert there == {
        (line.path, back.get(line.change, line.change), line.after, line.before)
        for line in _lines(after, before)
    }


@given(st.dictionaries(_NAMES, _SCALARS, max_size=6), st.dictionaries(_NAMES, _SCALARS, max_size=6))
def test_each_name_that_differs_has_one_line(before: Any, after: Any) -> None:
    missing = object()
    differing = {
        name
        for name in before.keys() | after.keys()
        if missing in (before.get(name, missing), after.get(name, missing))
        or _sent(before[name]) != _sent(after[name])
    }
    assert sorted(line.path for line in _lines(before, after)) == sorted(differing)


@given(_ARGUMENTS, _ARGUMENTS)
def test_what_is_shown_is_bounded(before: Any, after: Any) -> None:
    for line in _lines(before, after):
        assert max(len(line.before), len(line.after)) <= EXCERPT_CHARS + 2


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ({"a": 1}, {"a": 1, "b": None}, [Line("b", Change.ADDED, after="null")]),
        ({"a": 1, "b": "x"}, {"a": 1}, [Line("b", Change.REMOVED, before="x")]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [Line("a.b", Change.CHANGED, "1", "2")]),
        ({"a": 1}, {"a": 1.0}, [Line("a", Change.CHANGED, "1", "1.0")]),
        ({"a": 1}, {"a": True}, [Line("a", Change.CHANGED, "1", "true")]),
        ({"a": 1}, {"a": "1"}, [Line("a", Change.CHANGED, "1", '"1"')]),
        ({"a": "null"}, {"a": None}, [Line("a", Change.CHANGED, '"null"', "null")]),
        ({"a": []}, {"a": {}}, [Line("a", Change.CHANGED, "[]", "{}")]),
        ({"a": [1, 2, 3]}, {"a": [1, 9, 2, 3]}, [Line("a.2", Change.ADDED, after="9")]),
        ({"a": [1, 2, 3]}, {"a": [2, 3]}, [Line("a.1", Change.REMOVED, before="1")]),
        ({"a": [1, 2]}, {"a": [1, 3]}, [Line("a.2", Change.CHANGED, "2", "3")]),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}, []),
        (None, {"a": 1}, [Line("(value)", Change.CHANGED, "null", '{"a": 1}')]),
    ],
)
def test_it_says_what_differs(before: Any, after: Any, lines: list[Line]) -> None:
    assert _lines(before, after) == lines


def test_two_long_texts_are_shown_from_where_they_part() -> None:
    (line,) = _lines({"a": "x" * 5000 + "old"}, {"a": "x" * 5000 + "new"})
    assert line.before == "…" + "x" * 30 + "old"
    assert line.after == "…" + "x" * 30 + "new"


def test_more_lines_than_fit_are_said_to_be_there() -> None:
    found = differences({}, {str(number): number for number in range(MAX_LINES + 1)})
    assert (len(found.lines), found.more) == (MAX_LINES, True)
    whole = differences({}, {str(number): number for number in range(MAX_LINES)})
    assert (len(whole.lines), whole.more) == (MAX_LINES, False)


def test_nesting_without_end_is_compared_as_text() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert differences(deep, deep) == Differences()
    assert len(_lines(deep, [deep])) == 1


def test_large_values_take_no_long_time() -> None:
    before = {"rows": [{"id": number, "text": "x" * 50} for number in range(3000)]}
    after = {"rows": [{"id": number, "text": "y" * 50} for number in range(3000)]}
    start = time.perf_counter()
    differences(before, after)
    assert time.perf_counter() - start < 2
