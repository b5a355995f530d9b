"""A server's elicitation schema as a form, and a filled-in form as content to send.

Pure: values in, values out, no database and no network. `requested_schema` is whatever JSON
the server sent; nothing it holds can raise here, or take longer than the allowance in `budget`.
Source: MCP 2026-07-28, client/elicitation, "Requested Schema".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from approvals.schema_form.budget import ATTEMPTS, Budget, OutOfTime
from approvals.schema_form.check import errors_in
from approvals.schema_form.model import (
    ABSENT,
    FORM_ERRORS,
    Answer,
    Bounds,
    CannotShow,
    Choice,
    Field,
    FieldRefused,
    Json,
    Kind,
    Refused,
    Unrenderable,
)
from approvals.schema_form.patterns import Patterns
from approvals.schema_form.reading import read_form
from approvals.schema_form.resolve import Document
from approvals.schema_form.suggestions import posted, with_suggestion
from approvals.schema_form.values import posted_texts, read_value

__all__ = [
    "FORM_ERRORS",
    "Answer",
    "Bounds",
    "Choice",
    "Field",
    "Kind",
    "Refused",
    "Unrenderable",
    "answer",
    "fields",
    "initial",
    "posted",
    "response",
]

_TOO_LONG = "The server's schema takes too long to check, so it cannot be a form."
_TOO_DEEP = "The server's schema nests too deeply to be a form."

_Found = TypeVar("_Found")


def answer(
    requested_schema: object, submitted: Mapping[str, str | list[str]]
) -> Answer | Refused | Unrenderable:
    """The content to send for what a browser posted, or why there is none.

    `submitted` maps bare field names to what was posted under them; an unticked box is absent.
    Fields that the schema does not name are ignored. An optional field left empty is not sent;
    a box always is, as true or false. Never raises.
    """

    def made(patterns: Patterns) -> Answer | Refused:
        document, form_fields = read_form(requested_schema, patterns.budget)
        return _answered(document, form_fields, submitted, patterns)

    return _within_limits(made)


def fields(requested_schema: object) -> tuple[Field, ...] | Unrenderable:
    """What a page renders for the schema, in the server's order. Never raises."""

    def made(patterns: Patterns) -> tuple[Field, ...]:
        _, form_fields = read_form(requested_schema, patterns.budget)
        return tuple(with_suggestion(field, patterns) for field in form_fields)

    return _within_limits(made)


def _within_limits(made: Callable[[Patterns], _Found]) -> _Found | Unrenderable:
    """What is made within the allowance of time, or why the schema does not allow it.

    One pause of the garbage collector can use up the time of a small form, so there is a
    second attempt.
    """
    for _ in range(ATTEMPTS):
        try:
            return made(Patterns(Budget.start()))
        except CannotShow as problem:
            return Unrenderable(str(problem))
        except RecursionError:
            return Unrenderable(_TOO_DEEP)
        except OutOfTime:
            continue
    return Unrenderable(_TOO_LONG)


def _answered(
    document: Document,
    form_fields: tuple[Field, ...],
    submitted: Mapping[str, str | list[str]],
    patterns: Patterns,
) -> Answer | Refused:
    content: dict[str, Json] = {}
    errors: dict[str, str] = {}
    for field in form_fields:
        document.budget.check()
        try:
            value = read_value(field, posted_texts(submitted.get(field.name)), patterns)
        except FieldRefused as refusal:
            errors[field.name] = str(refusal)
        else:
            if value is not ABSENT:
                content[field.name] = value
    errors = errors or _whole(content, document, form_fields, patterns)
    return Refused(errors) if errors else Answer(content)


def _whole(
    content: dict[str, Json],
    document: Document,
    form_fields: tuple[Field, ...],
    patterns: Patterns,
) -> dict[str, str]:
    try:
        return errors_in(content, document, form_fields, patterns)
    except FieldRefused as refusal:
        return {FORM_ERRORS: str(refusal)}


def initial(form_fields: Sequence[Field]) -> dict[str, str | list[str]]:
    """The server's suggestions by bare field name, as a browser would post them untouched."""
    return {
        field.name: list(field.suggestion)
        if isinstance(field.suggestion, tuple)
        else field.suggestion
        for field in form_fields
        if field.suggestion
    }


def response(action: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
    """The ElicitResult to send: content goes with `accept` and with nothing else.

    For a link (url mode) pass no content. Raises ValueError for an action that does not exist.
    Source: MCP 2026-07-28, schema, ElicitResult.
    """
    if action not in {"accept", "decline", "cancel"}:
        raise ValueError(f"{action!r} is no answer to an elicitation")
    if action == "accept" and content is not None:
        return {"action": action, "content": content}
    return {"action": action}
