"""The small part of JSON Schema that tool arguments and elicited content are checked against.

Enough to catch a client that sends the wrong thing: types, required, bounds, choices. Schemas that
are hostile on purpose (deep, remote, exploding) are never followed here.
"""

from collections.abc import Iterator

from mcpdesk.simulator.protocol import Json

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def problems(schema: Json, value: Json) -> list[str]:
    """What is wrong with an object, one sentence each; empty when it fits."""
    properties = schema.get("properties", {})
    missing = [f"{name} is required" for name in schema.get("required", ()) if name not in value]
    wrong = (
        f"{name} {problem}"
        for name, given in value.items()
        if isinstance(properties.get(name), dict)
        for problem in _value_problems(properties[name], given)
    )
    return missing + list(wrong)


def _value_problems(schema: Json, value: object) -> Iterator[str]:
    kind = schema.get("type")
    if isinstance(kind, str) and not _has_type(kind, value):
        yield f"is not of type {kind}"
        return
    if (choices := _choices(schema)) is not None and value not in choices:
        yield "is not one of the choices"
    if isinstance(value, str):
        yield from _outside(schema, len(value), "minLength", "maxLength", "length")
    elif isinstance(value, list):
        yield from _outside(schema, len(value), "minItems", "maxItems", "number of items")
        items = schema.get("items", {})
        for item in value:
            yield from _value_problems(items, item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _outside(schema, value, "minimum", "maximum", "value")


def _has_type(kind: str, value: object) -> bool:
    if kind != "boolean" and isinstance(value, bool):
        return False
    if kind == "integer" and isinstance(value, float) and not value.is_integer():
        return False
    return isinstance(value, TYPES.get(kind, (object,)))


def _choices(schema: Json) -> list[object] | None:
    if "enum" in schema:
        return list(schema["enum"])
    for word in ("oneOf", "anyOf"):
        options = schema.get(word)
        if options and all("const" in option for option in options):
            return [option["const"] for option in options]
    return None


def _outside(schema: Json, size: float, low: str, high: str, what: str) -> Iterator[str]:
    if size < schema.get(low, size):
        yield f"has a {what} below {low}"
    if size > schema.get(high, size):
        yield f"has a {what} above {high}"
