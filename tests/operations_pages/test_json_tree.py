"""JSON as a tree: whole where it is small, its beginning where it is not."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tasks_monitor.json_tree import MOST_MEMBERS, MOST_NODES, MOST_TEXT_CHARS, Node, tree

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def value_of(node: Node) -> Any:
    if node.kind == "object":
        return {member.name: value_of(member) for member in node.members}
    if node.kind == "array":
        return [value_of(member) for member in node.members]
    return json.loads(node.text)


def count(node: Node) -> int:
    return 1 + sum(count(member) for member in node.members)


@given(ANY_JSON)
def test_a_small_value_is_there_whole_and_in_order(value: Any) -> None:
    node = tree(value)
    assert not node.is_cut
    assert value_of(node) == value


def test_of_a_long_list_the_beginning_is_there_and_the_rest_is_counted() -> None:
    node = tree(list(range(10_000)))
    assert (len(node.members), node.size) == (MOST_MEMBERS, 10_000)
    assert node.left_out == 10_000 - MOST_MEMBERS
    assert node.is_cut


def test_of_a_wide_and_deep_value_no_more_is_made_than_a_page_holds() -> None:
    node = tree([[[1] * 100] * 100] * 100)
    assert count(node) <= MOST_NODES + 3
    assert node.is_cut


def test_endless_nesting_ends() -> None:
    value: Any = 1
    for _ in range(500):
        value = [value]
    assert tree(value).is_cut


def test_long_names_and_texts_are_cut() -> None:
    (member,) = tree({"n" * 5_000: "x" * 10**6}).members
    assert (len(member.name), len(member.text)) == (MOST_TEXT_CHARS, MOST_TEXT_CHARS)
    assert member.cut
