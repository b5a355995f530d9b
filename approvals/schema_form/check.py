"""The last look: the finished content against the whole schema, by jsonschema.

The fields were read by rules of our own; this is the second opinion, and the only one on
conditions between fields. Nothing is fetched, and every step counts against the allowance of time.
"""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError, validators
from referencing import Registry

from approvals.schema_form.budget import OutOfTime
from approvals.schema_form.model import FORM_ERRORS, CannotShow, Field, FieldRefused, Json
from approvals.schema_form.numbers import is_finite_number, is_multiple
from approvals.schema_form.patterns import Patterns
from approvals.schema_form.resolve import Document

MAX_ERRORS: Final = 50

# jsonschema hands its keywords no context; this is where they find the time that is left.
_PATTERNS: ContextVar[Patterns] = ContextVar("patterns")

_Check = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


def errors_in(
    content: dict[str, Json], document: Document, fields: tuple[Field, ...], patterns: Patterns
) -> dict[str, str]:
    """A sentence for each field whose value breaks the schema, none when it holds.

    Raises CannotShow when the schema itself cannot be applied, OutOfTime, FieldRefused.
    """
    validator = _VALIDATOR(document.root, registry=Registry())
    names = {field.name for field in fields}
    token = _PATTERNS.set(patterns)
    try:
        found = list(islice(validator.iter_errors(content), MAX_ERRORS))
    except (OutOfTime, FieldRefused):
        raise
    except Exception as error:
        # Keywords that no field uses are whatever the server wrote; jsonschema then raises
        # TypeError, AttributeError, RecursionError, Unresolvable and more.
        raise CannotShow("The server's schema cannot be applied to an answer.") from error
    finally:
        _PATTERNS.reset(token)
    sentences: dict[str, str] = {}
    for broken in found:
        for name in _blamed(broken, names):
            sentences.setdefault(name, _sentence(name))
    return sentences


def _timed(check: _Check) -> _Check:
    def timed(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        budget = _PATTERNS.get().budget
        budget.check()
        for error in check(validator, value, instance, schema) or ():
            budget.check()
            yield error

    return timed


def _pattern_check(_: Any, pattern: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _PATTERNS.get().matches(pattern, instance):
        yield ValidationError("pattern")


def _multiple_check(_: Any, step: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    if is_finite_number(instance) and not is_multiple(instance, step):
        yield ValidationError("multipleOf")


def _made_validator() -> Any:
    """One class for all schemas: a class for each call would be garbage that is slow to collect."""
    checks = Draft202012Validator.VALIDATORS | {
        "pattern": _pattern_check,
        "multipleOf": _multiple_check,
    }
    extend: Any = validators.extend
    return extend(Draft202012Validator, {name: _timed(check) for name, check in checks.items()})


_VALIDATOR: Final = _made_validator()


def _blamed(error: ValidationError, names: set[str]) -> list[str]:
    """The fields an error belongs to: the one it is in, or those that it misses."""
    if error.absolute_path:
        return [str(error.absolute_path[0])]
    rule: Any = error.validator_value
    content: Any = error.instance
    missing: list[str] = []
    if error.validator == "required":
        missing = [name for name in rule if name not in content]
    if error.validator == "dependentRequired":
        wanted = [name for given, needed in rule.items() if given in content for name in needed]
        missing = [name for name in wanted if name not in content]
    return [name for name in missing if name in names] or [FORM_ERRORS]


def _sentence(name: str) -> str:
    if name == FORM_ERRORS:
        return "These answers do not go together by the server's rules."
    return "The server's rules do not allow this, together with the other answers."
