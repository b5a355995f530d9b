"""A result against the output schema of its tool."""

import time
from typing import Any

import pytest

from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.output import output_note

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
BOMB = {
    "$defs": {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)}
    | {"a60": {}},
    "$ref": "#/$defs/a0",
}


def test_structured_content_that_fits_has_no_note() -> None:
    assert output_note(SCHEMA, {"structuredContent": {"n": 1}}) is None
    assert output_note({"type": "array"}, {"structuredContent": [1]}) is None


@pytest.mark.parametrize(
    "result", [{"structuredContent": {"n": "1"}}, {"structuredContent": []}, {}]
)
def test_structured_content_that_does_not_fit_is_noted(result: dict[str, Any]) -> None:
    assert output_note(SCHEMA, result) is Note.OUTPUT_MISMATCH


def test_the_error_of_a_tool_needs_no_structure() -> None:
    assert output_note(SCHEMA, {"isError": True, "content": []}) is None


def test_a_local_reference_is_followed() -> None:
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/n"}}}
    assert output_note(schema, {"structuredContent": {"n": "x"}}) is Note.OUTPUT_MISMATCH


@pytest.mark.parametrize(
    "schema",
    [
        None,
        "text",
        {"type": "nonsense"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#/nowhere"},
        {"$ref": "#"},
        BOMB,
        {"patternProperties": {"(a+)+$": False}},
        {"description": "x" * 300_000, "type": "string"},
    ],
)
def test_what_cannot_be_checked_is_not_held_against_the_result(schema: Any) -> None:
    assert output_note(schema, {"structuredContent": {"a" * 40 + "b": 1}}) is None


def test_no_pattern_is_run() -> None:
    schema = {"type": "string", "pattern": "^(a+)+$"}
    assert output_note(schema, {"structuredContent": "a" * 60 + "b"}) is None


def _nested(keyword: str, depth: int) -> dict[str, Any]:
    """Each level judges again what every level below it judged."""
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"allOf": [schema], keyword: False}
    return schema


LABORIOUS = {
    "every pair of items": (
        {"uniqueItems": True},
        [{"n": n} for n in range(20_000)],
    ),
    "every item with every value": (
        {"items": {"enum": list(range(20_000))}},
        [20_000] * 20_000,
    ),
    "every item with every alternative": (
        {"items": {"anyOf": [{"const": 1}] * 9_000}},
        [0] * 40_000,
    ),
    "properties level by level": (_nested("unevaluatedProperties", 28), {"n": 1}),
    "items level by level": (_nested("unevaluatedItems", 28), [1]),
    "a schema that is no schema": ({"required": [{"n": n} for n in range(20_000)]}, {}),
}


@pytest.mark.parametrize(("schema", "content"), LABORIOUS.values(), ids=LABORIOUS.keys())
def test_no_schema_keeps_the_worker_busy(schema: dict[str, Any], content: Any) -> None:
    started = time.thread_time()
    output_note(schema, {"structuredContent": content})
    assert time.thread_time() - started < 5


@pytest.mark.parametrize(
    ("schema", "fitting", "unfitting"),
    [
        ({"uniqueItems": True}, [1, True, "1", [1], {"a": 1}], [{"a": 1}, {"a": 1.0}]),
        ({"uniqueItems": False}, [1, 1], None),
        ({"enum": [1, "a", None, {"n": [1]}]}, {"n": [1.0]}, True),
        ({"const": [1, {"n": 2}]}, [1.0, {"n": 2}], [True, {"n": 2}]),
    ],
)
def test_values_are_compared_as_json(schema: Any, fitting: Any, unfitting: Any) -> None:
    assert output_note(schema, {"structuredContent": fitting}) is None
    if unfitting is not None:
        noted = output_note(schema, {"structuredContent": unfitting})
        assert noted is Note.OUTPUT_MISMATCH
