"""A JSON value as rows of text: the arguments of a call, every one of them, nothing cut."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: A value longer than this is folded, and has to be opened before the call is approved.
LONG_CHARS = 300
LONG_LINES = 8
PREVIEW_CHARS = 120
#: More rows than this are shown as one folded JSON text instead.
MAX_ROWS = 400
_INDENTS = 6
_REPEATED_CHARS = 40
#: What JSON writes without quotes (RFC 8259), and has no rows below it.
_WORDS = ("true", "false", "null", "{}", "[]")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Row:
    """One name and its value; `depth` indents it, `text` is empty for what has rows below it."""

    name: str
    text: str
    depth: int = 0

    @property
    def is_long(self) -> bool:
        return len(self.text) > LONG_CHARS or self.text.count("\n") > LONG_LINES

    @property
    def preview(self) -> str:
        return self.text[:PREVIEW_CHARS]

    @property
    def indent(self) -> int:
        return min(self.depth, _INDENTS)


def rows(value: Any) -> list[Row]:
    """Every name and value, in order; one folded row when there would be too many."""
    if not isinstance(value, dict) or not value:
        return [] if value in (None, {}) else [Row("(value)", text_of(value))]
    found: list[Row] = []
    for row in _walk(value, 0):
        if len(found) == MAX_ROWS:
            return [Row("all arguments", json.dumps(value, indent=2, ensure_ascii=False))]
        found.append(row)
    return found


def _walk(value: dict[str, Any] | list[Any], depth: int, above: str = "") -> Iterator[Row]:
    """`above` stands before the names that are nested deeper than rows are indented."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value, start=1)
    for key, part in pairs:
        name = _name_of(key)
        if isinstance(part, dict | list) and part:
            yield Row(above + name, "", depth)
            yield from _walk(part, depth + 1, f"{_cut(name)} › " if depth >= _INDENTS else "")
        else:
            yield Row(above + name, text_of(part), depth)


def _cut(name: str) -> str:
    """A name that is repeated before others: whole it stands in its own row."""
    return name if len(name) <= _REPEATED_CHARS else f"{name[:_REPEATED_CHARS]}…"


def _name_of(key: str | int) -> str:
    """A name as it is; as JSON where spaces in it would be lost, or it would look like another."""
    name = str(key)
    return name if name == " ".join(name.split()) != "" else json.dumps(name, ensure_ascii=False)


def words_of(found: list[Row]) -> str:
    """All names and values that the rows show, a line each."""
    return "\n".join(part for row in found for part in (row.name, row.text))


def text_of(value: Any) -> str:
    """A string stands as it is; what could be taken for another value is written as JSON."""
    if isinstance(value, str) and not _misleads(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _misleads(text: str) -> bool:
    """Whether a string would look like a number, or like another string without its spaces."""
    hidden = not text.strip() or ("\n" not in text and text != text.strip())
    return hidden or text[0] == '"' or text in _WORDS or bool(_NUMBER.fullmatch(text))
