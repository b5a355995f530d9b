"""What the parts of a rule are read with: each refuses whatever is not exactly what it wants."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from approvals.policy.model import BadRule
from mcpdesk.mcp.jsontext import storable

WordT = TypeVar("WordT", bound=StrEnum)


def an_object(raw: object, what: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    """An object with these names and no others. Raises BadRule, as all of these."""
    if not isinstance(raw, dict):
        raise BadRule(f"{what} cannot be read.")
    if raw.keys() - set(known):
        raise BadRule(f"{what} says something that this desk does not know.")
    return raw


def a_text(raw: object, what: str, most: int) -> str:
    """A text of 1 to `most` characters that a database can hold."""
    if not isinstance(raw, str) or not 0 < len(raw) <= most or not storable(raw):
        raise BadRule(f"{what} has 1 to {most} characters.")
    return raw


def a_word(words: type[WordT], raw: object, what: str) -> WordT:
    """One of these words."""
    if not isinstance(raw, str) or raw not in list(words):
        raise BadRule(f"{what} is one of: {', '.join(words)}.")
    return words(raw)


def a_whole(raw: object, what: str, least: int, most: int) -> int:
    """A whole number; to Python true and false are numbers too."""
    if not isinstance(raw, int) or isinstance(raw, bool) or not least <= raw <= most:
        raise BadRule(f"{what} is a whole number from {least} to {most}.")
    return raw


def yes_or_no(raw: object, what: str) -> bool:
    """true or false."""
    if not isinstance(raw, bool):
        raise BadRule(f"{what} is true or false.")
    return raw


def a_list(raw: object, what: str, most: int) -> list[Any]:
    """A list of at most `most`."""
    if not isinstance(raw, list) or len(raw) > most:
        raise BadRule(f"{what} are a list of at most {most}.")
    return raw


def people(raw: object) -> tuple[int, ...]:
    """Ids of people, each once."""
    if not isinstance(raw, list) or any(
        not isinstance(one, int) or isinstance(one, bool) for one in raw
    ):
        raise BadRule("People are named by their ids.")
    return tuple(dict.fromkeys(raw))


def is_number(value: object) -> bool:
    """A JSON number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def nests_deeper(value: object, most: int) -> bool:
    """Whether lists and objects stand in each other deeper than that; level by level."""
    level = [value]
    for _ in range(most):
        level = [inner for one in level for inner in _inside(one)]
    return any(isinstance(one, dict | list) for one in level)


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
