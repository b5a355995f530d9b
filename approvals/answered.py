"""What was answered, in the words of the form that it was given on.

The titles are the server's, as whoever answered saw them; beside them stands what was sent. What
looks like a secret is shown nowhere, and neither is what nobody can tell from one.
"""

from dataclasses import dataclass
from typing import Any

from approvals import schema_form, tree
from approvals.forms import Control, values_of
from approvals.question import Question
from approvals.schema_form import Field
from approvals.tree import Row
from tasks_monitor.models import Delivery

#: Stands in for a secret that was given.
HIDDEN = "(not shown)"
_NOTHING = "(nothing)"


@dataclass(frozen=True, slots=True)
class Answered:
    """One field of the form, and what was said to it."""

    field: Field
    words: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said field by field, in the order of the form; `sent` is the same as JSON."""

    fields: list[Answered]
    sent: list[Row]


def of(asked: Question | None, delivery: Delivery | None) -> Answer | None:
    """The content that was sent; None where there is none, as in a plain yes or a refusal."""
    content = delivery.response.get("content") if delivery else None
    if asked is None or not content:
        return None
    given = [field for field in asked.fields if field.name in content]
    return Answer(
        fields=[Answered(field, in_words(field, content[field.name])) for field in given],
        sent=tree.rows(_without_secrets(asked, content)),
    )


def in_words(field: Field, value: Any) -> str:
    """A value of an answer as the form would show it; as JSON where it has no control for it."""
    if field.secret_like:
        return HIDDEN
    if value in (None, "", []):
        return _NOTHING
    posted = values_of(schema_form.posted(field, value))
    return Control(field, 0, posted).shown_values if any(posted) else tree.text_of(value)


def _without_secrets(asked: Question, content: dict[str, Any]) -> dict[str, Any]:
    """A form that cannot be read any more has no fields: then all of it might be secret."""
    plain = {field.name for field in asked.fields if not field.secret_like}
    return {name: content[name] if name in plain else HIDDEN for name in content}
