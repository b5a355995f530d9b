"""Does a result fit the output schema of its tool? (server/tools, Output Schema)

Both come from the server, so the check is bounded: nothing is fetched, no pattern is run, and
every step counts against a budget: the checker of a worker that works for others too must not be
kept busy by one result.
"""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from mcpdesk.mcp.jsontext import canonical
from mcpdesk.mcp.limits import MAX_CHECK_STEPS, MAX_CHECKED_CHARS
from mcpdesk.mcp.notes import Note

_extend: Any = extend  # has no types of its own
_Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class _BudgetSpent(Exception):
    """The check would take more steps than one may cost."""


class _Budget:
    """The steps that are left; an element of a list or an object that is gone through is one."""

    def __init__(self) -> None:
        self._left = MAX_CHECK_STEPS

    def spend(self, *looked_at: Any) -> None:
        self._left -= 1 + sum(len(each) for each in looked_at if isinstance(each, list | dict))
        if self._left < 0:
            raise _BudgetSpent


# jsonschema hands its keywords no context; this is where they find the budget.
_BUDGET: ContextVar[_Budget] = ContextVar("budget")


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
    token = _BUDGET.set(_Budget())
    try:
        if not _METASCHEMA.is_valid(output_schema):
            return None
        fits = _VALIDATOR(output_schema, registry=Registry()).is_valid(content)
    except (Unresolvable, _BudgetSpent, RecursionError):
        return None
    finally:
        _BUDGET.reset(token)
    return None if fits else Note.OUTPUT_MISMATCH


def _counted(check: _Keyword) -> _Keyword:
    def counted(
        validator: Any, value: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError]:
        _BUDGET.get().spend(value, instance)
        yield from check(validator, value, instance, schema) or ()

    return counted


def _no_pattern(_: Any, __: Any, ___: Any, ____: Any) -> None:
    return None


def _enum(_: Any, values: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    if not {_key(instance)}.intersection(map(_key, values)):
        yield ValidationError("enum")


def _const(_: Any, value: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    if _key(value) != _key(instance):
        yield ValidationError("const")


def _unique_items(_: Any, wanted: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    """One pass, where jsonschema would compare each item with every other one."""
    if wanted and isinstance(instance, list) and len(set(map(_key, instance))) < len(instance):
        yield ValidationError("uniqueItems")


def _key(value: Any) -> str:
    """Equal for equal JSON: 1 and 1.0 are one value, 1 and true are two."""
    return canonical(_as_whole(value))


def _as_whole(value: Any) -> Any:
    _BUDGET.get().spend(value)
    if isinstance(value, list):
        return [_as_whole(each) for each in value]
    if isinstance(value, dict):
        return {name: _as_whole(each) for name, each in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _made_validator() -> Any:
    """One class for all schemas; every keyword of it counts."""
    checks: dict[str, _Keyword] = Draft202012Validator.VALIDATORS | {
        "pattern": _no_pattern,
        "enum": _enum,
        "const": _const,
        "uniqueItems": _unique_items,
    }
    return _extend(Draft202012Validator, {name: _counted(check) for name, check in checks.items()})


_VALIDATOR: Final = _made_validator()
_METASCHEMA: Final = _VALIDATOR(Draft202012Validator.META_SCHEMA)
