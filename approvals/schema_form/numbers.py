"""Numbers as people type them, into the JSON number that is exactly that.

A whole number is sent as an integer, also from a number field and also when it was written
3.0 or 1e3 (JSON Schema 2020-12, 6.1.1: 3.0 is an integer). Anything else is sent as a double, and
refused when a double would silently be another number.
"""

import math
import re
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Final

from approvals.schema_form.model import Bounds, FieldRefused

MAX_CHARS: Final = 400
"""Characters of a number as typed: enough for the largest double written out in full."""

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_ASCII_SPACE: Final = " \t\r\n\f"


def read_integer(text: str) -> int:
    """The whole number that `text` writes. Raises FieldRefused."""
    value = read_number(text)
    if isinstance(value, float):
        raise FieldRefused("Enter a whole number.")
    return value


def read_number(text: str) -> int | float:
    """The number that `text` writes, an int whenever it is whole. Raises FieldRefused."""
    text = text.strip(_ASCII_SPACE)
    if len(text) > MAX_CHARS:
        raise FieldRefused("This number is too long to be sent.")
    if not _NUMBER.fullmatch(text):
        raise FieldRefused("Enter a number, in digits and with a point for decimals.")
    exact = Decimal(text)
    if exact and exact.adjusted() > sys.float_info.max_10_exp:
        raise FieldRefused("This number is too large to be sent.")
    if exact == exact.to_integral_value():
        return _whole(exact)
    nearest = float(text)
    if Decimal(repr(nearest)) != exact:
        raise FieldRefused("This number has more digits than can be sent exactly.")
    return nearest


def _whole(exact: Decimal) -> int:
    value = int(exact)
    if abs(value) > sys.float_info.max:
        raise FieldRefused("This number is too large to be sent.")
    return value


def check_number(value: int | float, bounds: Bounds) -> None:
    """Raise FieldRefused, naming the limit, when the number breaks one."""
    if bounds.minimum is not None and value < bounds.minimum:
        raise FieldRefused(f"Enter {shown(bounds.minimum)} or more.")
    if bounds.maximum is not None and value > bounds.maximum:
        raise FieldRefused(f"Enter {shown(bounds.maximum)} or less.")
    if bounds.exclusive_minimum is not None and value <= bounds.exclusive_minimum:
        raise FieldRefused(f"Enter more than {shown(bounds.exclusive_minimum)}.")
    if bounds.exclusive_maximum is not None and value >= bounds.exclusive_maximum:
        raise FieldRefused(f"Enter less than {shown(bounds.exclusive_maximum)}.")
    if bounds.multiple_of is not None and not is_multiple(value, bounds.multiple_of):
        raise FieldRefused(f"Enter a multiple of {shown(bounds.multiple_of)}.")


def is_multiple(value: int | float, step: int | float) -> bool:
    """Whether `value` is a multiple by its decimal digits, so that 0.3 is one of 0.1."""
    return (_fraction(value) / _fraction(step)).denominator == 1


def _fraction(value: int | float) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def shown(value: int | float) -> str:
    """The number for a sentence, short whatever its size."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value) if abs(value) < 10**20 else f"{Decimal(value):.6E}"


def is_finite_number(value: object) -> bool:
    """Whether it can be a limit: a JSON number, and neither infinite nor NaN."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
