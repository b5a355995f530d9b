"""A server's `default` as what the browser would post, where it is a possible answer at all."""

from dataclasses import replace
from typing import Any

from approvals.schema_form.choices import choice_for
from approvals.schema_form.formats import posted_date_time
from approvals.schema_form.model import ABSENT, Field, FieldRefused, Json, Kind
from approvals.schema_form.numbers import is_finite_number
from approvals.schema_form.patterns import Patterns
from approvals.schema_form.values import posted_texts, read_value


def posted(field: Field, value: Json) -> str | list[str]:
    """A value of an answer as a browser posts it when the form is filled in with it.

    Empty for a field that was left out, and for what its control cannot show.
    """
    if field.kind is Kind.BOOLEAN:
        return {True: "on", False: "off"}.get(value, "") if isinstance(value, bool) else ""
    found = _posted(field, value)
    return list(found) if isinstance(found, tuple) else found


def with_suggestion(field: Field, patterns: Patterns) -> Field:
    """The field with its suggestion; without one when the default breaks the schema.

    Nothing is ever filled in for a field that asks for a secret.
    """
    posted = "" if field.secret_like else _posted(field, field.default)
    if not posted:
        return field
    suggested = replace(field, suggestion=posted)
    try:
        value = read_value(suggested, posted_texts(posted), patterns)
    except FieldRefused:
        return field
    return field if value is ABSENT else suggested


def _posted(field: Field, default: Json) -> str | tuple[str, ...]:
    if field.kind is Kind.BOOLEAN:
        return "on" if default is True else ""
    if field.kind is Kind.CHOICES:
        return _several(field, default if isinstance(default, list) else [])
    if field.kind is Kind.CHOICE:
        choice = choice_for(default, field.choices) if default is not None else None
        return choice.value if choice else ""
    if field.kind in {Kind.INTEGER, Kind.NUMBER}:
        return _number(default)
    if not isinstance(default, str):
        return ""
    return posted_date_time(default) or "" if field.kind is Kind.DATETIME else default


def _several(field: Field, defaults: list[Any]) -> tuple[str, ...]:
    """All of the suggested values, or none of them when one is not among the choices."""
    chosen = [choice_for(value, field.choices) for value in defaults]
    values = [choice.value for choice in chosen if choice is not None]
    return tuple(dict.fromkeys(values)) if len(values) == len(defaults) else ()


def _number(default: Json) -> str:
    if not is_finite_number(default) or abs(default) > 1e300:
        return ""
    whole = isinstance(default, int) or default.is_integer()
    return str(int(default)) if whole else repr(default)
