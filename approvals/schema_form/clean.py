"""A server's schema, copied and bounded, before anything else looks at it.

The copy keeps every local reference valid. What it changes: a keyword whose value is null is
dropped (servers dump their models with the unset fields), the boolean `exclusiveMinimum` of
draft 4 becomes the number of today, and `$id` and `$schema` go, so that nothing is resolved
against a name of the server's choosing.
"""

from typing import Any, Final

from approvals.schema_form.budget import Budget
from approvals.schema_form.model import CannotShow, Json

MAX_DEPTH: Final = 64
"""Schemas inside schemas; as deep as a message may nest."""

_NAMED: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_LISTED: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NESTED: Final = frozenset(
    {"items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"}
)
_MEANINGFUL_NULL: Final = frozenset({"const", "default"})
_ROOT_ONLY: Final = frozenset({"$id", "$schema", "$vocabulary"})
# At the root these speak of fields that the form does not have, so nothing sent is touched.
_VACUOUS_AT_ROOT: Final = frozenset({"unevaluatedProperties"})
_REFUSED: Final = frozenset(
    {
        "$dynamicRef",
        "$recursiveRef",
        "$id",
        "patternProperties",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)


def cleaned(requested_schema: Json, budget: Budget) -> dict[str, Any]:
    """The schema as a bounded copy of our own.

    Raises CannotShow when it is no object, nests too deeply or uses what is beyond a flat form.
    """
    if not isinstance(requested_schema, dict):
        raise CannotShow("The server sent no schema that describes a form.")
    identity = requested_schema.get("$id")
    cleaner = _Cleaner(identity.rstrip("#") if isinstance(identity, str) else "", budget)
    skipped = _ROOT_ONLY | _VACUOUS_AT_ROOT
    return cleaner.schema({k: v for k, v in requested_schema.items() if k not in skipped}, 0)


class _Cleaner:
    def __init__(self, identity: str, budget: Budget) -> None:
        self._identity = identity
        self._budget = budget

    def any(self, value: Json, depth: int) -> Json:
        return self.schema(value, depth) if isinstance(value, dict) else value

    def schema(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        self._budget.check()
        if depth > MAX_DEPTH:
            raise CannotShow("The server's schema nests too deeply to be a form.")
        copy = {
            key: self._keyword(key, value, depth + 1)
            for key, value in schema.items()
            if value is not None or key in _MEANINGFUL_NULL
        }
        _modern_exclusive(copy, "minimum", "exclusiveMinimum")
        _modern_exclusive(copy, "maximum", "exclusiveMaximum")
        return copy

    def _keyword(self, key: str, value: Json, depth: int) -> Json:
        if key in _REFUSED:
            raise CannotShow(f"The server's schema uses {key}, which a form cannot show.")
        if key in _NAMED and isinstance(value, dict):
            return {name: self.any(part, depth) for name, part in value.items()}
        if key in _LISTED and isinstance(value, list):
            return [self.any(part, depth) for part in value]
        if key in _NESTED:
            return self.any(value, depth)
        if key == "$ref" and isinstance(value, str):
            return self._local(value)
        return value

    def _local(self, reference: str) -> str:
        """A reference that names the document by its own `$id` is a local one."""
        if self._identity and reference.startswith(self._identity + "#"):
            return reference.removeprefix(self._identity)
        return reference


def _modern_exclusive(schema: dict[str, Any], inclusive: str, exclusive: str) -> None:
    flag = schema.get(exclusive)
    if not isinstance(flag, bool):
        return
    del schema[exclusive]
    if flag and inclusive in schema:
        schema[exclusive] = schema.pop(inclusive)
