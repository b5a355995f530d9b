"""Conditions between fields: shown as a form only when they speak of fields that are in it."""

from collections.abc import Iterator
from typing import Any, Final

from approvals.schema_form.budget import Budget
from approvals.schema_form.model import CannotShow, Json

_CONDITIONS: Final = ("anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")


def check_conditions(root: dict[str, Any], names: frozenset[str], budget: Budget) -> None:
    """Raise CannotShow when a condition could ask for a field that the form does not have.

    Approving such a form would answer less than the server asked. What remains is checked
    on the finished content, with everything else.
    """
    pending = [root[key] for key in _CONDITIONS if key in root]
    for part in pending:
        budget.check()
        pending.extend(_parts(part))
        if isinstance(part, dict) and not names.issuperset(_named(part)):
            raise CannotShow("The server's schema asks for fields that depend on the answer.")


def _parts(part: Json) -> Iterator[Json]:
    if isinstance(part, list):
        yield from part
    elif isinstance(part, dict):
        if "$ref" in part:
            raise CannotShow("The server's schema has conditions that a form cannot show.")
        yield from (value for value in part.values() if isinstance(value, list | dict))


def _named(part: dict[str, Any]) -> Iterator[str]:
    properties, required = part.get("properties"), part.get("required")
    if isinstance(properties, dict):
        yield from properties
    if isinstance(required, list):
        yield from (name for name in required if isinstance(name, str))
