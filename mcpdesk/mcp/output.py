"""Does a result fit the output schema of its tool? (server/tools, Output Schema)

Both come from the server, so the check is bounded: nothing is fetched, no pattern is run, and
references, through which alone a schema can grow without end, have a budget.
"""

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from mcpdesk.mcp.jsontext import canonical
from mcpdesk.mcp.limits import MAX_CHECKED_CHARS, MAX_REFERENCES
from mcpdesk.mcp.notes import Note

_extend: Any = extend  # has no types of its own


class _BudgetSpent(Exception):
    """More references were followed than a check may cost."""


def output_note(output_schema: Any, result: dict[str, Any]) -> Note | None:
    """OUTPUT_MISMATCH where structuredContent certainly does not fit; None where it fits.

    None too where there is nothing to check or it cannot be checked: an invalid or a very large
    schema, references that leave it, patterns as names. A tool's own error needs no structure.
    """
    if not isinstance(output_schema, dict) or result.get("isError") is True:
        return None
    content = result.get("structuredContent")
    text = canonical([output_schema, content])
    if len(text) > MAX_CHECKED_CHARS or '"patternProperties"' in text:
        return None
    try:
        Draft202012Validator.check_schema(output_schema)
        fits = _bounded(output_schema).is_valid(content)
    except (SchemaError, Unresolvable, _BudgetSpent, RecursionError):
        return None
    return None if fits else Note.OUTPUT_MISMATCH


def _bounded(schema: dict[str, Any]) -> Draft202012Validator:
    left = iter(range(MAX_REFERENCES))

    def follow(name: str) -> Any:
        original = Draft202012Validator.VALIDATORS[name]

        def validate(
            validator: Any, value: Any, instance: Any, schema: Any
        ) -> Iterator[ValidationError]:
            if next(left, None) is None:
                raise _BudgetSpent
            yield from original(validator, value, instance, schema) or ()

        return validate

    def ignore(validator: Any, value: Any, instance: Any, schema: Any) -> None:
        return None

    keywords = {"$ref": follow("$ref"), "$dynamicRef": follow("$dynamicRef"), "pattern": ignore}
    bounded: Any = _extend(Draft202012Validator, keywords)
    validator: Draft202012Validator = bounded(schema, registry=Registry())
    return validator
