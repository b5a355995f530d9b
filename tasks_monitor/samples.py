"""Plausible values for a JSON schema, for machines that answer machines. Pure."""

from collections.abc import Callable
from typing import Any

Maker = Callable[[dict[str, Any], int], Any]

_TEXTS = {
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "date": "2026-07-28",
    "date-time": "2026-07-28T12:00:00Z",
}
_MAX_DEPTH = 8


def sample(schema: Any, depth: int = 0) -> Any:
    """A value that fits the schema in the common cases: its default first, else made from it.

    References are not resolved; what is nested deeper than eight levels is left empty.
    """
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return {}
    if "default" in schema:
        return schema["default"]
    if "const" in schema:
        return schema["const"]
    for choices in (schema.get("enum"), schema.get("oneOf"), schema.get("anyOf")):
        if isinstance(choices, list) and choices:
            first = choices[0]
            return sample(first, depth + 1) if isinstance(first, dict) else first
    make: Maker = _MAKERS.get(_type_of(schema), _object)
    return make(schema, depth)


def _type_of(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    return kind if isinstance(kind, str) else "object"


def _text(schema: dict[str, Any], depth: int) -> str:
    text = _TEXTS.get(str(schema.get("format")), "example")
    return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]


def _number(schema: dict[str, Any], depth: int) -> Any:
    return schema.get("minimum", min(1, schema.get("maximum", 1)))


def _boolean(schema: dict[str, Any], depth: int) -> bool:
    return True


def _array(schema: dict[str, Any], depth: int) -> list[Any]:
    return [sample(schema.get("items"), depth + 1)] * max(schema.get("minItems", 1), 1)


def _object(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    found = properties if isinstance(properties, dict) else {}
    return {name: sample(each, depth + 1) for name, each in found.items()}


def _null(schema: dict[str, Any], depth: int) -> None:
    return None


_MAKERS: dict[str, Maker] = {
    "string": _text,
    "integer": _number,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
    "null": _null,
}
