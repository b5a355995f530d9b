"""Local references followed and `allOf` folded, so that a field is one plain dictionary."""

import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote

from approvals.schema_form.budget import Budget
from approvals.schema_form.model import CannotShow, Json, same_json

MAX_PARTS: Final = 100
"""References and `allOf` members behind one field; a cycle ends here too."""

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_STRUCTURE: Final = frozenset(
    {"$ref", "allOf", "$defs", "definitions", "$comment", "$anchor", "$dynamicAnchor"}
)
_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "enumNames", "deprecated", "readOnly"}
)
_TIGHTER: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "minProperties": max,
    "maxProperties": min,
}


class Document:
    """One cleaned schema document, in which references are looked up."""

    def __init__(self, root: dict[str, Any], budget: Budget) -> None:
        self.root = root
        self.budget = budget

    def flat(self, schema: Json) -> dict[str, Any]:
        """The schema without `$ref` and `allOf`: all that they say, said in one place.

        Annotations nearest to the field win (JSON Schema 2020-12 allows siblings of `$ref`),
        bounds tighten. Raises CannotShow when parts contradict each other, when a reference
        leads nowhere, out of the document or round in a circle.
        """
        merged: dict[str, Any] = {}
        pending: list[Json] = [schema]
        for part in pending:
            self.budget.check()
            if len(pending) > MAX_PARTS:
                raise CannotShow("The server's schema refers to itself, or to too many parts.")
            if part is True:
                continue
            if not isinstance(part, dict):
                raise CannotShow("A part of the server's schema is not a schema.")
            _merge(merged, part)
            pending.extend(self._parts(part))
        return merged

    def _parts(self, schema: dict[str, Any]) -> list[Json]:
        parts: list[Json] = []
        if "$ref" in schema:
            parts.append(self._referred(schema["$ref"]))
        members = schema.get("allOf", [])
        if not isinstance(members, list):
            raise CannotShow("The server's schema has an allOf that is not a list.")
        return parts + members

    def _referred(self, reference: Json) -> Json:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise CannotShow(
                "The server's schema refers to something outside itself; it is never fetched."
            )
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            return self._anchored(fragment)
        place: Json = self.root
        for token in fragment.split("/")[1:]:
            place = _child(place, token.replace("~1", "/").replace("~0", "~"))
        return place

    def _anchored(self, anchor: str) -> Json:
        for key in ("$defs", "definitions"):
            definitions = self.root.get(key)
            for schema in definitions.values() if isinstance(definitions, dict) else ():
                if isinstance(schema, dict) and schema.get("$anchor") == anchor:
                    return schema
        raise CannotShow("The server's schema refers to a part that is not there.")


def _child(place: Json, token: str) -> Json:
    """The value one step down a JSON pointer (RFC 6901)."""
    if isinstance(place, dict) and token in place:
        return place[token]
    if isinstance(place, list) and _INDEX.fullmatch(token) and int(token) < len(place):
        return place[int(token)]
    raise CannotShow("The server's schema refers to a part that is not there.")


def _merge(merged: dict[str, Any], part: dict[str, Any]) -> None:
    for key, value in part.items():
        if key in _STRUCTURE:
            continue
        if key not in merged:
            merged[key] = value
        elif key not in _ANNOTATIONS:
            merged[key] = _both(key, merged[key], value)


def _both(key: str, left: Json, right: Json) -> Json:
    """What satisfies two values of one keyword at once."""
    if key in _TIGHTER and is_number(left) and is_number(right):
        return _TIGHTER[key](left, right)
    if key == "type":
        return _shared_types(left, right)
    if key == "required" and isinstance(left, list) and isinstance(right, list):
        return left + right
    if key == "properties" and isinstance(left, dict) and isinstance(right, dict):
        shared = {name: {"allOf": [left[name], right[name]]} for name in left.keys() & right.keys()}
        return left | right | shared
    if key == "additionalProperties" or same_json(left, right):
        return left
    raise CannotShow(f"The server's schema says two different things about {key}.")


def _shared_types(left: Json, right: Json) -> list[Json]:
    lefts, rights = (given if isinstance(given, list) else [given] for given in (left, right))
    shared = [name for name in lefts if name in rights]
    if not shared and {"number", "integer"} <= {*map(str, lefts), *map(str, rights)}:
        shared = ["integer"]
    if not shared:
        raise CannotShow("The server's schema says two different things about type.")
    return shared


def is_number(value: Json) -> bool:
    """Whether it is a JSON number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
