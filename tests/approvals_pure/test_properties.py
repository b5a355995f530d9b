"""Whatever a server sends and whatever is posted: one of three answers, soon, and a true one."""

import json
import time
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from approvals.links import inspect_url
from approvals.schema_form import Answer, Refused, Unrenderable, answer, fields, initial
from approvals.text import SegmentKind, reveal, warnings_for

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

KEYWORDS = [
    "type",
    "properties",
    "required",
    "enum",
    "const",
    "oneOf",
    "anyOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "multipleOf",
    "default",
    "title",
    "description",
    "enumNames",
    "$ref",
    "$defs",
    "$id",
    "$anchor",
    "additionalProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "minProperties",
    "contains",
    "unevaluatedProperties",
    "a",
    "b",
]
WORDS = [
    *["string", "number", "integer", "boolean", "array", "object", "null", "email", "uri", "date"],
    *["date-time", "a", "b", "#", "#/$defs/a", "#/properties/a", "^(a+)+$", "[", ".", "on", "1"],
]
texts = st.text(st.characters(codec=None), max_size=8) | st.sampled_from(WORDS)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.integers(-2, 5)
names = st.sampled_from(KEYWORDS) | texts
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5),
    max_leaves=25,
)
parts = st.recursive(
    st.dictionaries(names, scalars, max_size=4),
    lambda inner: st.dictionaries(
        names, inner | st.lists(inner | scalars, max_size=3) | anything, max_size=6
    ),
    max_leaves=12,
)
forms = st.fixed_dictionaries(
    {"properties": st.dictionaries(st.sampled_from("ab") | texts, parts | anything, max_size=4)},
    optional={
        "type": st.just("object"),
        "required": st.lists(st.sampled_from("ab"), max_size=2),
        "$defs": st.dictionaries(st.sampled_from("ab"), parts, max_size=2),
        "anyOf": st.lists(parts, max_size=2),
        "not": parts,
        "if": parts,
        "then": parts,
        "dependentSchemas": st.dictionaries(st.sampled_from("ab"), parts, max_size=2),
        "propertyNames": parts,
    },
)
posted = st.dictionaries(
    st.sampled_from("ab") | texts, texts | st.lists(texts, max_size=4), max_size=5
)


@QUICK
@given(forms | anything, posted)
def test_any_schema_and_any_post_end_in_one_of_three_within_two_seconds(
    schema: Any, submitted: dict[str, Any]
) -> None:
    started = time.monotonic()
    found = answer(schema, submitted)
    shown = fields(schema)
    assert isinstance(found, Answer | Refused | Unrenderable)
    assert isinstance(found, Unrenderable) or isinstance(shown, tuple)
    assert time.monotonic() - started < 4
    if isinstance(found, Answer):
        json.dumps(found.content, allow_nan=False).encode()
    if isinstance(shown, tuple):
        assert isinstance(answer(schema, initial(shown)), Answer | Refused | Unrenderable)


def _number_fields(kind: str) -> st.SearchStrategy[tuple[dict[str, Any], Any]]:
    values = st.integers(-(10**20), 10**20)
    numbers = values if kind == "integer" else values | st.floats(-1e9, 1e9, allow_nan=False)
    return numbers.map(lambda value: ({"type": kind, "minimum": value, "maximum": value}, value))


def _choice_fields() -> st.SearchStrategy[tuple[dict[str, Any], Any]]:
    values = st.lists(st.text() | st.integers() | st.booleans(), min_size=1, max_size=5)
    return values.flatmap(
        lambda found: st.sampled_from(found).map(lambda value: ({"enum": found}, value))
    )


def _string_fields() -> st.SearchStrategy[tuple[dict[str, Any], Any]]:
    sendable = st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), min_size=1
    )
    return sendable.map(
        lambda text: ({"type": "string", "minLength": len(text), "maxLength": len(text)}, text)
    )


FIELDS = st.one_of(
    _number_fields("integer"),
    _number_fields("number"),
    _string_fields(),
    _choice_fields(),
    st.booleans().map(lambda value: ({"type": "boolean"}, value)),
)


def _post(schema: dict[str, Any], values: dict[str, Any]) -> dict[str, str]:
    """What a browser posts when a person gives these values."""
    shown = fields(schema)
    assert isinstance(shown, tuple), shown
    submitted: dict[str, str] = {}
    for field in shown:
        value = values[field.name]
        if field.choices:
            chosen = [
                c for c in field.choices if (type(c.content), c.content) == (type(value), value)
            ]
            submitted[field.name] = chosen[0].value
        elif isinstance(value, bool):
            submitted |= {field.name: "on"} if value else {}
        else:
            submitted[field.name] = value if isinstance(value, str) else repr(value)
    return submitted


@QUICK
@given(st.dictionaries(st.sampled_from("abcdef"), FIELDS, max_size=4))
def test_valid_values_are_sent_with_their_types_and_satisfy_the_schema(
    asked: dict[str, tuple[dict[str, Any], Any]],
) -> None:
    schema = {
        "type": "object",
        "properties": {name: part for name, (part, _) in asked.items()},
        "required": list(asked),
    }
    values = {name: value for name, (_, value) in asked.items()}
    found = answer(schema, _post(schema, values))
    assert isinstance(found, Answer), found
    assert found.content == values
    Draft202012Validator(schema).validate(found.content)
    for name, value in found.content.items():
        assert isinstance(value, bool) == isinstance(values[name], bool)
        assert not (isinstance(value, float) and value.is_integer())


@QUICK
@given(st.text(st.characters(codec=None)))
def test_revealing_loses_nothing_that_can_be_seen(text: str) -> None:
    found = reveal(text)
    plain = [part.text for part in found if part.kind is SegmentKind.PLAIN]
    assert all(piece in text for piece in plain)
    "".join(part.text for part in found).encode()
    warnings_for(text)


@QUICK
@given(
    st.text(st.characters(codec=None))
    | st.text("htps:/\\@.#?[]0x1-a%\t\n eż", max_size=30).map("https:".__add__)
)
def test_any_link_is_judged_and_an_openable_one_is_plain(url: str) -> None:
    facts = inspect_url(url, "mcp.example.com")
    if facts.openable:
        assert facts.href.startswith(("https://", "http://"))
        assert facts.host in facts.href
