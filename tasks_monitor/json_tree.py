"""A JSON value as a tree to be shown, cut where it would be too much for a page. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

#: Of one list or object so many members are shown, of the whole value so many, so deep.
MOST_MEMBERS: Final = 200
MOST_NODES: Final = 1_500
MOST_DEPTH: Final = 64
MOST_TEXT_CHARS: Final = 2_000


@dataclass(slots=True)
class Node:
    """A value under its name. `kind`: object, array, string, number, boolean or null.

    `size` counts the members of an object or array, `left_out` those that are not here.
    """

    name: str
    kind: str
    text: str = ""
    size: int = 0
    members: list["Node"] = field(default_factory=list)
    left_out: int = 0
    cut: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether something of it, however deep, is not here."""
        return self.cut or bool(self.left_out) or any(member.is_cut for member in self.members)


def tree(value: Any, name: str = "") -> Node:
    """The value as a tree, its beginning where it is large."""
    return _Planter().plant(name, value, depth=0)


class _Planter:
    """Makes nodes as long as there is room for them."""

    def __init__(self) -> None:
        self._room = MOST_NODES

    def plant(self, name: str, value: Any, depth: int) -> Node:
        self._room -= 1
        shown, name_is_cut = name[:MOST_TEXT_CHARS], len(name) > MOST_TEXT_CHARS
        if not isinstance(value, dict | list):
            return _leaf(shown, value, name_is_cut)
        kind = "object" if isinstance(value, dict) else "array"
        node = Node(shown, kind, size=len(value), cut=name_is_cut)
        if depth < MOST_DEPTH:
            for key, member in _members(value):
                if self._room <= 0 or len(node.members) == MOST_MEMBERS:
                    break
                node.members.append(self.plant(key, member, depth + 1))
        node.left_out = node.size - len(node.members)
        return node


def _members(value: dict[str, Any] | list[Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    else:
        yield from ((str(number), member) for number, member in enumerate(value))


def _leaf(name: str, value: Any, name_is_cut: bool) -> Node:
    text = json.dumps(value, ensure_ascii=False)
    cut = name_is_cut or len(text) > MOST_TEXT_CHARS
    return Node(name, _KINDS[type(value)], text[:MOST_TEXT_CHARS], cut=cut)


_KINDS: Final = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
