"""Lists of choices: `enum`, `enumNames`, `const`, and `oneOf`/`anyOf` of titled constants."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from approvals.lookalikes import look
from approvals.schema_form.model import CannotShow, Choice, Json, same_json
from approvals.schema_form.resolve import Document

MAX_CHOICES: Final = 10_000
"""Choices in one list."""

# What a browser cannot post as it is: nothing at all, line ends (it rewrites them), and
# characters that HTML or UTF-8 do not carry.
_UNPOSTABLE: Final = re.compile(r"\A\Z|[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

Option = tuple[Json, str | None]
"""A value and the title that the server gave it, if any."""


def options_of(schema: dict[str, Any], document: Document) -> list[Option] | None:
    """The options that a flat schema lists, or None when it lists none.

    Titles from `oneOf`/`anyOf` win over plain `enum` values; when both are there, only what
    both permit is offered. Raises CannotShow.
    """
    titled = _titled_options(schema, document)
    enum = schema.get("enum")
    if enum is None:
        return titled if titled is not None else _constant(schema)
    if not isinstance(enum, list):
        raise CannotShow("The server's schema has an enum that is not a list.")
    _bound(enum)
    if titled is None:
        return list(zip(enum, _enum_names(schema, len(enum)), strict=True))
    permitted = {_key(value) for value in enum}
    return [option for option in titled if _key(option[0]) in permitted]


def _constant(schema: dict[str, Any]) -> list[Option] | None:
    return [(schema["const"], None)] if "const" in schema else None


def _enum_names(schema: dict[str, Any], count: int) -> list[str | None]:
    names = schema.get("enumNames")
    given = names[:count] if isinstance(names, list) else []
    titles: list[str | None] = [name if isinstance(name, str) else None for name in given]
    return titles + [None] * (count - len(titles))


def _titled_options(schema: dict[str, Any], document: Document) -> list[Option] | None:
    for key in ("oneOf", "anyOf"):
        members = schema.get(key)
        if members is not None:
            return [option for member in members for option in _member(member, document)]
    return None


def _member(member: Json, document: Document) -> list[Option]:
    flat = document.flat(member)
    title = flat.get("title")
    if "const" in flat:
        return [(flat["const"], title if isinstance(title, str) else None)]
    if isinstance(flat.get("enum"), list):
        return options_of(flat, document) or []
    raise CannotShow("The server's schema offers alternatives that are not plain choices.")


def _bound(values: list[Any]) -> None:
    if len(values) > MAX_CHOICES:
        raise CannotShow(f"The server's schema offers more than {MAX_CHOICES} choices.")


def made_choices(options: list[Option], types: frozenset[str]) -> tuple[Choice, ...]:
    """The options as choices, those of a wrong type left out, the same value only once.

    Raises CannotShow when nothing remains or a value is a list or an object.
    """
    _bound(options)
    unique: dict[tuple[bool, Json], Option] = {}
    for value, title in options:
        if isinstance(value, list | dict):
            raise CannotShow("The server's schema offers a choice that is not a single value.")
        if has_type(value, types):
            unique.setdefault(_key(value), (value, title))
    if not unique:
        raise CannotShow("The server's schema offers nothing to choose from.")
    return tuple(_posted(_with_titles(unique.values())))


def has_type(value: Json, types: frozenset[str]) -> bool:
    """Whether the value is of one of these JSON Schema types; no types permit every one."""
    if not types or value is None:
        return not types or "null" in types
    if isinstance(value, bool):
        return "boolean" in types
    if isinstance(value, str):
        return "string" in types
    if isinstance(value, float) and not value.is_integer():
        return "number" in types
    return bool(types & {"number", "integer"})


def _key(value: Json) -> tuple[bool, Json]:
    """Equal for equal JSON: 1 and 1.0 are one value, 1 and true are two."""
    if isinstance(value, list | dict):
        return (False, json.dumps(value, sort_keys=True))
    return (isinstance(value, bool), value)


def _with_titles(options: Iterable[Option]) -> list[tuple[Json, str]]:
    named = [
        (value, title if title and title.strip() else _plain(value)) for value, title in options
    ]
    looks = [look(title) for _, title in named]
    seen = Counter(looks)
    # Two choices that look the same would let a person pick the other one.
    return [
        (value, title if seen[look] == 1 else f"{title} ({json.dumps(value, ensure_ascii=False)})")
        for (value, title), look in zip(named, looks, strict=True)
    ]


def _plain(value: Json) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def _posted(named: list[tuple[Json, str]]) -> Iterable[Choice]:
    """Strings post themselves; what cannot, and what is no string, posts its JSON."""
    taken = {value for value, _ in named if _posts_itself(value)}
    for value, title in named:
        posted = value
        if not _posts_itself(value):
            posted = json.dumps(value)
            while posted in taken:
                posted = f"({posted})"
            taken.add(posted)
        yield Choice(posted, title, value)


def _posts_itself(value: Json) -> bool:
    return isinstance(value, str) and not _UNPOSTABLE.search(value)


def choice_for(value: Json, choices: tuple[Choice, ...]) -> Choice | None:
    """The choice that sends this value, if there is one."""
    return next((choice for choice in choices if same_json(choice.content, value)), None)
