"""Lengths of time in words, for charts, tables and the bar of phases. Pure."""

from typing import Final

_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def length_in_words(ms: float) -> str:
    """A length of time (ms) in its one or two largest units: "340 ms", "1 min 20 s", "3 d 4 h"."""
    whole = max(0, round(ms))
    if whole < _SECOND:
        return f"{whole} ms"
    if whole < 10 * _SECOND and whole % _SECOND >= 50:
        return f"{whole / _SECOND:.1f} s"
    if whole < _MINUTE:
        return f"{whole // _SECOND} s"
    for unit, name, smaller, its_name in _UNITS:
        if whole >= unit:
            rest = whole % unit // smaller
            return f"{whole // unit:,} {name}" + (f" {rest} {its_name}" if rest else "")
    raise AssertionError("the smallest unit takes everything")


_UNITS: Final = (
    (_DAY, "d", _HOUR, "h"),
    (_HOUR, "h", _MINUTE, "min"),
    (_MINUTE, "min", _SECOND, "s"),
)
