"""From a server's schema to the fields of a form."""

import re
from dataclasses import replace
from typing import Any, Final

from approvals.schema_form.budget import Budget
from approvals.schema_form.choices import has_type, made_choices, options_of
from approvals.schema_form.clean import cleaned
from approvals.schema_form.conditions import check_conditions
from approvals.schema_form.model import Bounds, CannotShow, Field, Json, Kind
from approvals.schema_form.numbers import is_finite_number
from approvals.schema_form.resolve import Document
from approvals.secret_words import names_a_secret

MAX_FIELDS: Final = 1_000
"""Fields in one form; nobody answers more, and a browser's post is limited as well."""

MAX_SHOWN_CHARS: Final = 1_000_000
"""Characters in all fields of a form. References say again and again what came once."""

MULTILINE_FROM_CHARS: Final = 200
"""A text that may be longer than this gets more than one line."""

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_STRING_KINDS: Final = {
    "email": Kind.EMAIL,
    "uri": Kind.URL,
    "date": Kind.DATE,
    "date-time": Kind.DATETIME,
}
_TYPE_HINTS: Final = {
    "object": {"properties", "additionalProperties", "minProperties", "maxProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}
_UNNAMEABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
_WORD_STARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.\s]+")
_MAX_UNIONS: Final = 8


def read_form(requested_schema: Json, budget: Budget) -> tuple[Document, tuple[Field, ...]]:
    """The cleaned document and the fields it asks for, without suggestions.

    Raises CannotShow or OutOfTime.
    """
    document = Document(cleaned(requested_schema, budget), budget)
    root = document.flat(document.root)
    if "object" not in _types(root) | ({"object"} if "type" not in root else frozenset()):
        raise CannotShow("The server's schema does not describe an object, so it is no form.")
    properties = root.get("properties", {})
    if not isinstance(properties, dict):
        raise CannotShow("The server's schema has properties that are not named fields.")
    if len(properties) > MAX_FIELDS:
        raise CannotShow(f"The server asks for more than {MAX_FIELDS} fields.")
    required = _required(root, properties)
    check_conditions(root, frozenset(properties), budget)
    names = [name for name, part in properties.items() if part is not False]
    found: list[Field] = []
    chars = 0
    for name in names:
        found.append(_read_field(name, properties[name], name in required, document))
        chars += _shown_chars(found[-1])
        if chars > MAX_SHOWN_CHARS:
            raise CannotShow("The server's schema has more text than a form can show.")
    return document, tuple(found)


def _shown_chars(field: Field) -> int:
    """How much text of the server's the field brings to a page, about."""
    suggested = field.default if isinstance(field.default, str) else ""
    choices = sum(len(choice.title) + len(choice.value) for choice in field.choices)
    return len(field.label) + len(field.help) + len(suggested) + choices


def _required(root: dict[str, Any], properties: dict[str, Json]) -> frozenset[str]:
    names = root.get("required", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CannotShow("The server's schema has a list of required fields that cannot be read.")
    if any(name not in properties or properties[name] is False for name in names):
        raise CannotShow("The server requires a field that its form does not have.")
    return frozenset(names)


def _read_field(name: str, part: Json, required: bool, document: Document) -> Field:
    if _UNNAMEABLE.search(name):
        raise CannotShow("A field's name has characters that a form cannot carry.")
    schema, nullable = _without_null(document.flat(part), document)
    title, help_text = schema.get("title"), schema.get("description")
    label = title if isinstance(title, str) and title.strip() else humanised(name)
    field = Field(
        name=name,
        label=label,
        help=help_text if isinstance(help_text, str) else "",
        kind=Kind.TEXT,
        required=required,
        nullable=nullable,
        default=schema.get("default"),
    )
    field = _with_kind(field, schema, document)
    return replace(field, secret_like=_is_secret_like(field, schema))


def humanised(name: str) -> str:
    """A field's name as words: "first_name" and "firstName" are "First name"."""
    words = " ".join(_WORD_STARTS.sub(" ", name).split())
    if not words:
        return "Unnamed field"
    lowered = " ".join(word if word.isupper() else word.lower() for word in words.split())
    return lowered[0].upper() + lowered[1:]


def _types(schema: dict[str, Any]) -> frozenset[str]:
    """The types the schema names; empty when it names none. Raises CannotShow."""
    given = schema.get("type", [])
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CannotShow("The server's schema has a type that cannot be read.")
    if not _TYPES.issuperset(names) or (not names and "type" in schema):
        raise CannotShow("The server's schema has a type that nobody knows.")
    return frozenset(names)


def _without_null(schema: dict[str, Any], document: Document) -> tuple[dict[str, Any], bool]:
    """The schema without the alternative of null, and whether there was one."""
    nullable = "null" in _types(schema)
    for _ in range(_MAX_UNIONS):
        key = next((key for key in ("anyOf", "oneOf") if key in schema), None)
        if key is None:
            break
        members = schema[key]
        if not isinstance(members, list):
            raise CannotShow(f"The server's schema has {key} that is not a list.")
        document.budget.check()
        solid = [member for member in members if not _is_null(member)]
        nullable = nullable or len(solid) < len(members)
        rest = {name: value for name, value in schema.items() if name != key}
        if len(solid) != 1:
            return rest | {key: solid}, nullable
        schema = document.flat({"allOf": [rest, solid[0]]})
        nullable = nullable or "null" in _types(schema)
    return schema, nullable


def _is_null(member: Json) -> bool:
    return isinstance(member, dict) and member.get("type") == "null" and "const" not in member


def _with_kind(field: Field, schema: dict[str, Any], document: Document) -> Field:
    types = _types(schema)
    options = options_of(schema | {"const": None} if types == {"null"} else schema, document)
    if options is not None and "array" not in types:
        if _is_plain_boolean(schema, types, [value for value, _ in options]):
            return _boolean_field(field, [value for value, _ in options])
        # A type that permits null does not add it to a list of values that has no null.
        nullable = field.nullable and "null" not in types
        choices = made_choices(options, types)
        return replace(field, kind=Kind.CHOICE, choices=choices, nullable=nullable)
    return _typed_field(field, schema, _one_type(schema, types - {"null"}), document)


def _is_plain_boolean(schema: dict[str, Any], types: frozenset[str], values: list[Json]) -> bool:
    """A box to tick, not a list: booleans without titles of their own."""
    untitled = "oneOf" not in schema and "anyOf" not in schema and "enumNames" not in schema
    are_booleans = bool(values) and all(isinstance(value, bool) for value in values)
    return untitled and are_booleans and has_type(True, types)


def _one_type(schema: dict[str, Any], types: frozenset[str]) -> str:
    """The type to ask for when the schema permits several, or names none."""
    if not types:
        return _guessed_type(schema)
    if "string" in types:
        return "string"
    if "number" in types and types <= {"number", "integer"}:
        return "number"
    if len(types) == 1:
        return next(iter(types))
    raise CannotShow("The server's schema has a field of several types.")


def _guessed_type(schema: dict[str, Any]) -> str:
    for name, keywords in _TYPE_HINTS.items():
        if keywords & schema.keys():
            return name
    default = schema.get("default")
    if isinstance(default, bool):
        return "boolean"
    return "number" if is_finite_number(default) else "string"


def _typed_field(field: Field, schema: dict[str, Any], name: str, document: Document) -> Field:
    if name == "boolean":
        return _boolean_field(field, [True, False])
    if name in {"number", "integer"}:
        return replace(field, kind=Kind(name), bounds=_bounds(schema))
    if name == "array":
        return _choices_field(field, schema, document)
    if name == "string":
        return _string_field(field, schema)
    raise CannotShow("The server asks for an object inside the form, which a form cannot show.")


def _boolean_field(field: Field, values: list[Json]) -> Field:
    return replace(field, kind=Kind.BOOLEAN, allowed=frozenset(values))


def _choices_field(field: Field, schema: dict[str, Any], document: Document) -> Field:
    if "enum" in schema or "const" in schema or "prefixItems" in schema:
        raise CannotShow("The server's schema has a list that is not a choice of several.")
    items = document.flat(schema.get("items", {}))
    options = options_of(items, document)
    if options is None:
        raise CannotShow("The server asks for a list without saying what can be chosen.")
    choices = made_choices(options, _types(items))
    return replace(field, kind=Kind.CHOICES, choices=choices, bounds=_bounds(schema))


def _string_field(field: Field, schema: dict[str, Any]) -> Field:
    bounds, pattern = _bounds(schema), schema.get("pattern")
    if pattern is not None and not isinstance(pattern, str):
        raise CannotShow("The server's schema has a pattern that is not text.")
    format_name = schema.get("format")
    kind = _STRING_KINDS.get(format_name) if isinstance(format_name, str) else None
    if kind is None:
        default = schema.get("default")
        long = bounds.max_length is not None and bounds.max_length > MULTILINE_FROM_CHARS
        has_lines = isinstance(default, str) and "\n" in default
        kind = Kind.MULTILINE if long or has_lines else Kind.TEXT
    return replace(field, kind=kind, bounds=bounds, pattern=pattern)


def _bounds(schema: dict[str, Any]) -> Bounds:
    return Bounds(
        minimum=_limit(schema, "minimum"),
        maximum=_limit(schema, "maximum"),
        exclusive_minimum=_limit(schema, "exclusiveMinimum"),
        exclusive_maximum=_limit(schema, "exclusiveMaximum"),
        multiple_of=_step(schema),
        min_length=_count(schema, "minLength"),
        max_length=_count(schema, "maxLength"),
        min_items=_count(schema, "minItems"),
        max_items=_count(schema, "maxItems"),
    )


def _limit(schema: dict[str, Any], key: str) -> Any:
    value = schema.get(key)
    if value is not None and not is_finite_number(value):
        raise CannotShow(f"The server's schema has a {key} that is not a number.")
    return value


def _step(schema: dict[str, Any]) -> Any:
    value = _limit(schema, "multipleOf")
    if value is not None and value <= 0:
        raise CannotShow("The server's schema has a multipleOf that is not above zero.")
    return value


def _count(schema: dict[str, Any], key: str) -> int | None:
    value = _limit(schema, key)
    if value is not None and (value < 0 or value != int(value)):
        raise CannotShow(f"The server's schema has a {key} that is not a count.")
    return None if value is None else int(value)


def _is_secret_like(field: Field, schema: dict[str, Any]) -> bool:
    if field.kind in {Kind.BOOLEAN, Kind.CHOICE, Kind.CHOICES}:
        return False
    return (
        schema.get("format") == "password"
        or schema.get("writeOnly") is True
        or names_a_secret(humanised(field.name))
        or names_a_secret(humanised(field.label))
    )
