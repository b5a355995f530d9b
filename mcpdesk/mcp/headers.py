"""Header values, and arguments mirrored into headers (basic/transports/streamable-http)."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcpdesk.mcp.jsontext import canonical
from mcpdesk.mcp.limits import MAX_SCHEMA_PARTS

_PREFIX, _SUFFIX = "=?base64?", "?="
_SAFE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?|")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MIRRORED_TYPES = ("integer", "string", "boolean")
_ANNOTATION = "x-mcp-header"

# Where JSON Schema 2020-12 (and draft-07 beside it) holds schemas. Everything else in a schema is
# data (`default`, `enum`, ...), in which a member called x-mcp-header means nothing.
_HOLDS_ONE = (
    "items", "contains", "additionalItems", "unevaluatedItems", "additionalProperties",
    "unevaluatedProperties", "propertyNames", "not", "if", "then", "else", "contentSchema",
)  # fmt: skip
_HOLDS_LIST = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_HOLDS_MAP = ("patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")


class InvalidToolHeader(ValueError):
    """A tool's `x-mcp-header` breaks the rules, so the tool has to be left out.

    `reason` is a sentence that names the rule.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class HeaderParam:
    """One argument that is mirrored: the header's full name, and where the value is found."""

    header: str
    path: tuple[str, ...]


HeaderPlan = tuple[HeaderParam, ...]


def encode(value: str) -> str:
    """A header value for any text (section Value Encoding): as it is, or `=?base64?...?=`.

    Raises UnicodeEncodeError for a lone surrogate, which UTF-8 cannot carry.
    """
    looks_encoded = value.startswith(_PREFIX) and value.endswith(_SUFFIX)
    if _SAFE.fullmatch(value) and not looks_encoded:
        return value
    return _PREFIX + base64.b64encode(value.encode()).decode("ascii") + _SUFFIX


def decode(value: str) -> str | None:
    """The text behind a header value; None where it claims base64 of UTF-8 and is not."""
    if not (value.startswith(_PREFIX) and value.endswith(_SUFFIX)):
        return value
    encoded = value[len(_PREFIX) : -len(_SUFFIX)]
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def header_plan(input_schema: Mapping[str, Any]) -> HeaderPlan:
    """Which arguments this schema wants as `Mcp-Param-*` headers.

    Raises InvalidToolHeader where an annotation is in a wrong place, on a wrong type, no token,
    or there twice (section Schema Extension), or where it could stand in so many places that
    nobody looks through them all. A schema that names it nowhere costs next to nothing.
    """
    plan: dict[str, HeaderParam] = {}
    if _ANNOTATION not in canonical(input_schema):
        return ()
    for number, (path, schema) in enumerate(_schemas(input_schema)):
        if number == MAX_SCHEMA_PARTS:
            raise InvalidToolHeader("The input schema is too big to be searched for x-mcp-header.")
        if _ANNOTATION not in schema:
            continue
        name = _checked_name(path, schema)
        if name.lower() in plan:
            raise InvalidToolHeader(f"Two properties ask for the header Mcp-Param-{name}.")
        plan[name.lower()] = HeaderParam(f"Mcp-Param-{name}", path or ())
    return tuple(plan.values())


def param_headers(plan: HeaderPlan, arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The `Mcp-Param-*` headers for these arguments; nothing for what is absent or null."""
    found = []
    for param in plan:
        text = _as_text(_value_at(param.path, arguments))
        if text is not None:
            found.append((param.header, encode(text)))
    return found


def _checked_name(path: tuple[str, ...] | None, schema: Mapping[str, Any]) -> str:
    if not path:
        raise InvalidToolHeader("x-mcp-header stands where `properties` alone do not lead.")
    name = schema[_ANNOTATION]
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise InvalidToolHeader("x-mcp-header is not a valid part of a header name.")
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _MIRRORED_TYPES:
        raise InvalidToolHeader(
            "x-mcp-header stands on a type other than integer, string, boolean."
        )
    return name


def _schemas(
    root: Mapping[str, Any],
) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """Every schema within `root`, in order, with its path of properties (None: another way)."""
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), root)]
    while waiting:
        path, schema = waiting.pop()
        if isinstance(schema, dict):
            yield path, schema
            waiting.extend(reversed(list(_within(path, schema))))


def _within(
    path: tuple[str, ...] | None, schema: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...] | None, Any]]:
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, held in properties.items():
            yield (None if path is None else (*path, name)), held
    for keyword in _HOLDS_ONE:
        yield None, schema.get(keyword)
    for keyword in _HOLDS_LIST:
        held = schema.get(keyword)
        for each in held if isinstance(held, list) else ():
            yield None, each
    for keyword in _HOLDS_MAP:
        held = schema.get(keyword)
        for each in held.values() if isinstance(held, dict) else ():
            yield None, each


def _value_at(path: tuple[str, ...], arguments: Any) -> Any:
    for name in path:
        if not isinstance(arguments, Mapping):
            return None
        arguments = arguments.get(name)
    return arguments


def _as_text(value: Any) -> str | None:
    """Section Type conversion. A value of no mirrored type has no header; the server decides."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int) else None
