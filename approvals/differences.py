"""What differs between the arguments of two calls, as lines that a person can read. Pure.

Values are compared as the JSON that would be sent: 1 and 1.0 differ, the order of an object's names
does not count. Lists are compared place by place, once what begins and ends alike is set aside, so
that one entry put in or taken out is one line. Linear in the size of both values, and bounded: at
most MAX_LINES lines of at most EXCERPT_CHARS characters a side, MAX_DEPTH levels deep.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from itertools import islice, zip_longest
from typing import Any, Final

MAX_LINES: Final = 100
MAX_DEPTH: Final = 64
#: Longer texts are shown from a little before the place where they begin to differ.
EXCERPT_CHARS: Final = 120
_BEFORE_CHARS: Final = 30


class Change(StrEnum):
    """What happened to one value."""

    ADDED = auto()
    REMOVED = auto()
    CHANGED = auto()


@dataclass(frozen=True, slots=True)
class Line:
    """One value that differs, named by its path ("options.region", "recipients.2", from 1).

    `before` and `after` are texts to show, cut where they are long; empty where there is none.
    """

    path: str
    change: Change
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Differences:
    """The lines, in the order of the later call; `more`: there are others besides."""

    lines: tuple[Line, ...] = ()
    more: bool = False

    @property
    def none(self) -> bool:
        """Whether both calls carry the same."""
        return not self.lines


class _Absent:
    """Stands where a value is not there: null is a value."""


_ABSENT: Final = _Absent()


def differences(before: Any, after: Any) -> Differences:
    """What `after` has more, less, or other than `before`; both are JSON values."""
    found = list(islice(_compare(before, after, ()), MAX_LINES + 1))
    return Differences(tuple(found[:MAX_LINES]), more=len(found) > MAX_LINES)


def _compare(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[Line]:
    if before is _ABSENT or after is _ABSENT:
        yield _line(before, after, path)
    elif len(path) < MAX_DEPTH and isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_objects(before, after, path)
    elif len(path) < MAX_DEPTH and isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(before, after, path)
    elif _sent(before) != _sent(after):
        yield _line(before, after, path)


def _compare_objects(
    before: dict[str, Any], after: dict[str, Any], path: tuple[str, ...]
) -> Iterator[Line]:
    for name in [*after, *(name for name in before if name not in after)]:
        yield from _compare(before.get(name, _ABSENT), after.get(name, _ABSENT), (*path, name))


def _compare_lists(before: list[Any], after: list[Any], path: tuple[str, ...]) -> Iterator[Line]:
    old, new = [_sent(value) for value in before], [_sent(value) for value in after]
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    pairs = zip_longest(
        before[start : len(before) - end], after[start : len(after) - end], fillvalue=_ABSENT
    )
    for number, (one, other) in enumerate(pairs, start=start + 1):
        yield from _compare(one, other, (*path, str(number)))


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """How much at the beginning is the same: entries of a list, or letters of a text."""
    return next(
        (number for number, (one, other) in enumerate(zip(old, new, strict=False)) if one != other),
        min(len(old), len(new)),
    )


def _sent(value: Any) -> str:
    """The value as one text, equal for what would be sent alike."""
    return json.dumps(value, sort_keys=True)


def _line(before: Any, after: Any, path: tuple[str, ...]) -> Line:
    old, new = _shown(before), _shown(after)
    if before is _ABSENT:
        return Line(_name(path), Change.ADDED, after=_cut(new, 0))
    if after is _ABSENT:
        return Line(_name(path), Change.REMOVED, before=_cut(old, 0))
    start = max(0, _alike(old, new) - _BEFORE_CHARS)
    return Line(_name(path), Change.CHANGED, _cut(old, start), _cut(new, start))


def _name(path: tuple[str, ...]) -> str:
    return ".".join(path) or "(value)"


def _shown(value: Any) -> str:
    """A string stands as it is, unless it could be taken for another value; the rest as JSON."""
    if isinstance(value, str) and not _reads_as_json(value):
        return value
    return "" if value is _ABSENT else json.dumps(value, ensure_ascii=False)


def _reads_as_json(text: str) -> bool:
    return not text or text[0] in '"-0123456789{[' or text in ("true", "false", "null")


def _cut(text: str, start: int) -> str:
    """An excerpt that holds the place where the texts part; short texts stay whole."""
    if len(text) <= EXCERPT_CHARS:
        return text
    part = text[start : start + EXCERPT_CHARS]
    left, right = "…" * (start > 0), "…" * (start + EXCERPT_CHARS < len(text))
    return f"{left}{part}{right}"
