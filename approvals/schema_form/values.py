"""What a browser posted for one field, as the JSON value that is sent."""

import re
from collections.abc import Callable
from typing import Final

from approvals.schema_form.formats import read_date, read_date_time, read_email, read_uri
from approvals.schema_form.model import ABSENT, Absent, Field, FieldRefused, Json, Kind
from approvals.schema_form.numbers import check_number, read_integer, read_number
from approvals.schema_form.patterns import Patterns

_UNSENDABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
_LINE_END: Final = re.compile(r"\r\n?")
_TICKED: Final = frozenset({"on", "true", "1", "yes"})
_UNTICKED: Final = frozenset({"", "off", "false", "0", "no"})
_FORMATS: Final[dict[Kind, Callable[[str], str]]] = {
    Kind.EMAIL: read_email,
    Kind.URL: read_uri,
    Kind.DATE: read_date,
    Kind.DATETIME: read_date_time,
}


def posted_texts(posted: object) -> list[str]:
    """What was posted under one name, as a list; whatever is no text is not there."""
    if isinstance(posted, str):
        return [posted]
    if isinstance(posted, list | tuple):
        return [text for text in posted if isinstance(text, str)]
    return []


def characters(count: int) -> str:
    """So many characters, in words."""
    return "1 character" if count == 1 else f"{count} characters"


def read_value(field: Field, texts: list[str], patterns: Patterns) -> Json | Absent:
    """The value to send, or ABSENT when the field is left out. Raises FieldRefused.

    Where one value is wanted and several came, the last counts, as in any form post.
    """
    if field.kind is Kind.CHOICES:
        return _read_choices(field, texts)
    text = texts[-1] if texts else ""
    if field.kind is Kind.BOOLEAN:
        if texts and not text.strip() and field.is_open_question:
            return _nothing(field)
        return _read_boolean(field, text)
    if _is_empty(field, text):
        return _nothing(field)
    if field.kind is Kind.CHOICE:
        return _chosen(field, text)
    if field.kind in {Kind.INTEGER, Kind.NUMBER}:
        value = (read_integer if field.kind is Kind.INTEGER else read_number)(text)
        check_number(value, field.bounds)
        return value
    return _read_text(field, text, patterns)


def _is_empty(field: Field, text: str) -> bool:
    """Spaces alone are an answer in a text, and nothing in anything that has a form of its own."""
    keeps_spaces = field.kind in {Kind.TEXT, Kind.MULTILINE, Kind.CHOICE}
    return not (text if keeps_spaces else text.strip())


_NEEDED: Final = {Kind.CHOICE: "Choose one.", Kind.BOOLEAN: "Answer yes or no."}


def _nothing(field: Field) -> Json | Absent:
    if not field.required:
        return ABSENT
    if field.nullable:
        return None
    raise FieldRefused(_NEEDED.get(field.kind, "Fill in this field."))


def _read_boolean(field: Field, text: str) -> bool | Absent:
    word = text.strip().lower()
    if word not in _TICKED | _UNTICKED:
        raise FieldRefused("Answer yes or no.")
    value = word in _TICKED
    if value in field.allowed:
        return value
    if not text and not field.required:
        return ABSENT
    raise FieldRefused(
        "The server accepts no answer but yes." if not value else "The server accepts only no."
    )


def _chosen(field: Field, text: str) -> Json:
    for choice in field.choices:
        if choice.value == text:
            return choice.content
    raise FieldRefused("Choose one of the values offered.")


def _read_choices(field: Field, texts: list[str]) -> list[Json] | Absent:
    """The choices in the order posted, each once: ticking a box twice is ticking it."""
    chosen = [_chosen(field, text) for text in dict.fromkeys(texts) if text]
    # Unticking what the server had suggested is an answer; leaving a list alone is none.
    if not chosen and not field.required and (field.bounds.min_items or not field.default):
        return ABSENT
    least, most = field.bounds.min_items, field.bounds.max_items
    if least is not None and len(chosen) < least:
        raise FieldRefused(f"Choose at least {least}.")
    if most is not None and len(chosen) > most:
        raise FieldRefused(f"Choose at most {most}.")
    return chosen


def _read_text(field: Field, text: str, patterns: Patterns) -> str:
    """The text as typed, with the line ends of a text area (CR LF) as LF."""
    text = _LINE_END.sub("\n", text)
    if _UNSENDABLE.search(text):
        raise FieldRefused("This has a character that cannot be sent.")
    if field.kind in _FORMATS:
        text = _FORMATS[field.kind](text)
    least, most = field.bounds.min_length, field.bounds.max_length
    if least is not None and len(text) < least:
        raise FieldRefused(f"Enter at least {characters(least)}; there are {len(text)}.")
    if most is not None and len(text) > most:
        raise FieldRefused(f"Enter at most {characters(most)}; there are {len(text)}.")
    if field.pattern is not None and not patterns.matches(field.pattern, text):
        raise FieldRefused("This does not have the form that the server asks for.")
    return text
