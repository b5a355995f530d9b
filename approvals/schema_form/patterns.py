"""A server's `pattern`: ECMA-262 syntax, unanchored, and never more than its share of time.

The `regex` package runs it because it can be stopped. What differs between the two languages
is rewritten first, and the size a pattern would unfold to is bounded, since compiling it cannot
be stopped: `regex` unfolds a{50} fifty times, and so in powers when such counts nest.
"""

import re
from typing import Final

import regex

from approvals.schema_form.budget import Budget
from approvals.schema_form.model import FieldRefused

MAX_PATTERN_CHARS: Final = 5_000
MAX_UNFOLDED: Final = 50_000
MATCH_S: Final = 0.15
"""Seconds one pattern may take on one value."""

_LINE_ENDS: Final = r"\n\r\u2028\u2029"
_SPACES: Final = r"\t\n\x0b\x0c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"

_TOKEN: Final = re.compile(
    r"\\u\{(?P<point>[0-9A-Fa-f]{1,6})\}"
    r"|\\c(?P<control>[A-Za-z])"
    r"|\\k<(?P<name>[A-Za-z_]\w*)>"
    r"|(?P<escape>\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[pP]\{[\w=]+\}|.))"
    r"|(?P<count>\{(?P<least>\d+)(?:,\d*)?\})"
    r"|(?P<open>\((?:\?(?::|=|!|<=|<!|P?<[A-Za-z_]\w*>|[ims]+\)|[ims]*-?[ims]*:))?)"
    r"|(?P<nothing>\[\])|(?P<anything>\[\^\])"
    r"|(?P<other>.)",
    re.DOTALL | re.ASCII,
)
_KNOWN_LETTERS: Final = frozenset("dDwWsSbBfnrtvuxpP0123456789")
_LITERAL: Final = {"{": r"\{", "}": r"\}", "]": r"\]"}
_QUANTIFIERS: Final = frozenset("*+?")


class UnusablePattern(ValueError):
    """The pattern cannot be run."""


class Patterns:
    """Runs patterns within one allowance of time, and remembers what it found."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._found: dict[tuple[str, str], bool] = {}

    def matches(self, pattern: str, text: str) -> bool:
        """Whether the pattern occurs in the text (JSON Schema 2020-12 validation, 6.3.3).

        Raises FieldRefused when the pattern cannot be run or takes too long, OutOfTime.
        """
        key = (pattern, text)
        if key not in self._found:
            self._found[key] = self._search(pattern, text)
        return self._found[key]

    def _search(self, pattern: str, text: str) -> bool:
        self.budget.check()
        try:
            compiled = regex.compile(translated(pattern), _flags(pattern))
            return compiled.search(text, timeout=MATCH_S) is not None
        except TimeoutError:
            raise FieldRefused(
                "The server's pattern for this field takes too long to check, so it cannot be sent."
            ) from None
        except (UnusablePattern, regex.error, RecursionError, MemoryError, OverflowError):
            raise FieldRefused(
                "The server's pattern for this field cannot be read, so nothing can be sent in it."
            ) from None


def _flags(pattern: str) -> int:
    r"""ECMA's \d, \w and \b know ASCII only; `regex` would hold \p{...} to ASCII as well."""
    asks_for_properties = r"\p{" in pattern or r"\P{" in pattern
    return int(regex.V0 | (regex.UNICODE if asks_for_properties else regex.ASCII))


def translated(pattern: str) -> str:
    """The ECMA-262 pattern in the language of `regex`. Raises UnusablePattern."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise UnusablePattern("too long")
    translation = _Translation()
    for token in _TOKEN.finditer(pattern):
        translation.add(token)
    return "".join(translation.parts)


class _Translation:
    """One pass over the tokens; keeps what each open group would unfold to."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._in_class = False
        self._groups = [0]
        self._atom = 0

    def add(self, token: re.Match[str]) -> None:
        if self._in_class:
            self._add_in_class(token)
        elif token["count"]:
            self._repeat(token)
        elif token["open"]:
            self._open(token["open"])
        elif token["other"]:
            self._add_other(token["other"])
        elif token["nothing"] or token["anything"]:
            self._emit("(?!)" if token["nothing"] else "(?s:.)")
        else:
            self._emit(_escape(token))

    def _emit(self, text: str) -> None:
        self.parts.append(text)
        self._atom = 1
        self._grow(1)

    def _grow(self, size: int) -> None:
        self._groups[-1] += size
        if self._groups[-1] > MAX_UNFOLDED:
            raise UnusablePattern("unfolds to too much")

    def _repeat(self, token: re.Match[str]) -> None:
        self.parts.append(token["count"])
        if len(token["least"]) > 5:
            raise UnusablePattern("repeats too often")
        more = self._atom * max(int(token["least"]) - 1, 0)
        self._atom += more
        self._grow(more)

    def _open(self, text: str) -> None:
        self.parts.append(text)
        if not text.endswith(")"):
            self._groups.append(0)

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise UnusablePattern("closes a group that was not opened")
        size = self._groups.pop() + 1
        self.parts.append(")")
        self._atom = size
        self._grow(size)

    def _add_other(self, char: str) -> None:
        if char == ")":
            self._close()
        elif char == "[":
            self._in_class = True
            self._emit("[")
        elif char in _QUANTIFIERS and self.parts[-1:] == ["("]:
            raise UnusablePattern("a kind of group that ECMA-262 does not have")
        elif char in _QUANTIFIERS or char == "|":
            self.parts.append(char)
        elif char == ".":
            self._emit(f"[^{_LINE_ENDS}]")
        elif char == "$":
            self._emit(r"\Z")
        else:
            self._emit(_LITERAL.get(char, char))

    def _add_in_class(self, token: re.Match[str]) -> None:
        if token["point"] or token["control"] or token["escape"]:
            self.parts.append(_escape(token, in_class=True))
            return
        # Here a token such as "(?:" is only its characters; a "]" can only be its last one.
        for char in token[0]:
            self._in_class = char != "]"
            self.parts.append(char if char in "^-]" else regex.escape(char))


def _escape(token: re.Match[str], *, in_class: bool = False) -> str:
    if token["point"]:
        return _code_point(int(token["point"], 16))
    if token["control"]:
        return f"\\x{ord(token['control']) % 32:02x}"
    if token["name"]:
        return f"(?P={token['name']})"
    escape = token["escape"]
    letter = escape[1] if escape else ""
    if letter == "s":
        return _SPACES if in_class else f"[{_SPACES}]"
    if letter == "S" and not in_class:
        return f"[^{_SPACES}]"
    if letter == "b" and in_class:
        return r"\x08"
    if letter.isascii() and letter.isalnum() and letter not in _KNOWN_LETTERS:
        raise UnusablePattern(f"an escape nobody knows: {escape}")
    return escape or regex.escape(token[0])


def _code_point(number: int) -> str:
    if number > 0x10FFFF:
        raise UnusablePattern("a character that does not exist")
    return f"\\U{number:08x}"
