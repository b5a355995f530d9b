"""A result against the output schema of its tool."""

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
