"""JSON from a stranger: one strict, bounded parser, and the canonical form for comparing."""

import json
import math
import re
from itertools import accumulate
from typing import Any

from mcpdesk.mcp.limits import MAX_DEPTH
from mcpdesk.mcp.replies import ReplyProblem

# A string, closed or not: an open one swallows the rest, so that matching stays linear.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"++--")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("+"): 1, ord("-"): -1}


class BadJson(ValueError):
    """The text is not JSON this desk takes; `problem` says why."""

    def __init__(self, problem: ReplyProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


class _Document:
    """One parse: the JSON parser calls these, and whether a name came twice is remembered."""

    __slots__ = ("has_duplicates",)

    def __init__(self) -> None:
        self.has_duplicates = False

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            self.has_duplicates = True
        return found


def parse(text: bytes) -> tuple[Any, bool]:
    """The value of a JSON text in UTF-8, and whether an object in it has a name twice.

    Of names that come twice the last one counts. Raises BadJson: not UTF-8, not JSON (NaN and
    Infinity, numbers beyond a double or of thousands of digits included), or nested too deep.
    """
    if _is_too_deep(text):
        raise BadJson(ReplyProblem.TOO_DEEP)
    document = _Document()
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=document.pairs,
            parse_constant=_refuse,
            parse_float=_finite,
        )
    except UnicodeDecodeError:
        raise BadJson(ReplyProblem.NOT_UTF8) from None
    except ValueError:
        raise BadJson(ReplyProblem.NOT_JSON) from None
    return value, document.has_duplicates


def canonical(value: Any) -> str:
    """The same ASCII text for the same JSON value, whatever the order of its names."""
    return _canonical(value)


def storable(text: str) -> bool:
    """A database's text column can hold it: no NUL and no lone surrogate."""
    if "\x00" in text:
        return False
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def plain(text: str) -> str:
    """The text with NUL and lone surrogates made visible, so that it can be stored and shown."""
    if storable(text):
        return text
    visible = text.replace("\x00", "\u2400")
    return visible.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def _is_too_deep(text: bytes) -> bool:
    """Counted before parsing: the parser recurses, and its own limit is the interpreter's."""
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", text).translate(_STEPS, _NOT_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > MAX_DEPTH


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("beyond a double")
    return number
