"""A question's fields as controls of a page, and back from what a browser posts.

Fields are posted by number ("field-0"): a server's names never become names of ours, so that none
of them can stand in for the choice, the token or the confirmation beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from django.http import QueryDict

from approvals import schema_form
from approvals.decide import Said
from approvals.models import Choice, Verdict
from approvals.question import Question, Submitted
from approvals.schema_form import Choice as Option
from approvals.schema_form import Field, Kind
from approvals.schema_form.values import characters
from approvals.verdict import Word

#: A choice with at most so many options is shown as buttons, a longer one as a list.
MAX_BUTTONS = 6

#: Posted as the choice: accept, with another answer than the one that stands proposed.
PROPOSE = "propose"

_INPUT_TYPES = {
    Kind.EMAIL: "email",
    Kind.URL: "url",
    Kind.DATE: "date",
    Kind.DATETIME: "datetime-local",
}
_YES_NO = {True: "yes", False: "no"}
#: The buttons of a yes or no for which the server suggests nothing: neither is pressed yet.
_YES_OR_NO = (Option("on", "Yes", True), Option("off", "No", False))
_INPUT_MODES = {Kind.INTEGER: "numeric", Kind.NUMBER: "decimal"}


@dataclass(frozen=True, slots=True)
class Control:
    """One field as the page shows it, with what stands in it and what is wrong with that."""

    field: Field
    number: int
    values: tuple[str, ...]
    error: str = ""
    # what its ids begin with, where a page has several forms
    prefix: str = ""

    @property
    def name(self) -> str:
        return f"field-{self.number}"

    @property
    def id(self) -> str:
        """Its id on the page; those of its label, help and error begin with it."""
        return f"{self.prefix}{self.name}"

    @property
    def value(self) -> str:
        return self.values[0] if self.values else ""

    @property
    def widget(self) -> str:
        """Which partial of the form's template draws it."""
        if self.field.kind is Kind.CHOICE:
            return "buttons" if len(self.field.choices) <= MAX_BUTTONS else "list"
        if self.field.is_open_question:
            return "buttons"
        return {Kind.BOOLEAN: "switch", Kind.CHOICES: "boxes", Kind.MULTILINE: "lines"}.get(
            self.field.kind, "line"
        )

    @property
    def options(self) -> tuple[Option, ...]:
        """What can be picked: the server's choices, or a plain yes and no of ours."""
        return _YES_OR_NO if self.field.is_open_question else self.field.choices

    @property
    def is_group(self) -> bool:
        """Several controls under one label."""
        return self.widget in ("buttons", "boxes")

    @property
    def input_type(self) -> str:
        return "password" if self.field.secret_like else _INPUT_TYPES.get(self.field.kind, "text")

    @property
    def input_mode(self) -> str:
        return _INPUT_MODES.get(self.field.kind, "text")

    @property
    def described_by(self) -> str:
        """Ids of what belongs to the control: the error first."""
        parts = [("error", self.error), ("help", self.field.help), ("limits", self.limits)]
        return " ".join(f"{self.id}-{part}" for part, text in parts if text)

    @property
    def limits(self) -> str:
        """What the schema permits, in our words; empty when it sets no limits."""
        said = [_range(self.field), _lengths(self.field), _zone(self.field)]
        return " ".join(sentence for sentence in said if sentence)

    @property
    def suggestion(self) -> str:
        """The server's default in words; empty when there is none."""
        if self.field.kind is Kind.BOOLEAN:
            default = self.field.default
            return _YES_NO[default] if isinstance(default, bool) else ""
        return self._words(values_of(self.field.suggestion))

    @property
    def shown_values(self) -> str:
        """What stands in it, in words."""
        if self.field.kind is Kind.BOOLEAN:
            return _YES_NO[self.value != "off"]
        return self._words(self.values)

    def _words(self, posted: tuple[str, ...]) -> str:
        titles = {choice.value: choice.title for choice in self.field.choices}
        words = _TIMES.get(self.field.kind, str)
        return ", ".join(titles.get(value) or words(value) for value in posted if value)


def controls(
    asked: Question, typed: Submitted | None, errors: Mapping[str, str], prefix: str = ""
) -> list[Control]:
    """The controls of a form, with what was typed before or else what the server suggests."""
    shown = schema_form.initial(asked.fields) if typed is None else typed
    return [
        Control(
            field, number, values_of(shown.get(field.name, ())), errors.get(field.name, ""), prefix
        )
        for number, field in enumerate(asked.fields)
    ]


def submitted(post: QueryDict, asked: Question) -> dict[str, str | list[str]]:
    """The fields of a post under the server's names, as schema_form.answer() takes them."""
    found: dict[str, str | list[str]] = {}
    for number, field in enumerate(asked.fields):
        values = post.getlist(f"field-{number}")
        if field.kind is Kind.CHOICES:
            found[field.name] = [str(value) for value in values]
        elif values:
            found[field.name] = str(values[-1])
        elif field.is_open_question:
            found[field.name] = ""  # neither of the buttons was pressed: not a no
    return found


def said(post: QueryDict, asked: Question) -> Said | None:
    """What a person posted; None when it names no choice."""
    posted = post.get("choice", "")
    choice = Choice.ACCEPT if posted == PROPOSE else posted
    if choice not in Choice.values:
        return None
    return Said(
        choice=Choice(choice),
        token=post.get("binding", ""),
        submitted=submitted(post, asked),
        gives_secrets=post.get("gives_secrets") == "on",
        opened=opened(post),
        proposes=posted == PROPOSE,
    )


def word(post: QueryDict) -> Word | None:
    """What a person posted to a gate; None when it names no verdict."""
    chosen = post.get("choice", "")
    if chosen not in Verdict.values:
        return None
    return Word(
        verdict=Verdict(chosen),
        token=post.get("binding", ""),
        reason=_reason(post),
        opened=opened(post),
    )


def _reason(post: QueryDict) -> str:
    """The usual reason that was picked, and what was typed."""
    said = (post.get("usual_reason", "").strip(), post.get("reason", "").strip())
    return ": ".join(part for part in said if part)


def opened(post: QueryDict) -> frozenset[str]:
    """The marks of the folded values that a person has opened (folds)."""
    return frozenset(post.getlist("opened"))


def values_of(shown: object) -> tuple[str, ...]:
    """What a browser posts, or would post, for one field, as a tuple."""
    if isinstance(shown, str):
        return (shown,)
    return tuple(str(value) for value in shown) if isinstance(shown, list | tuple) else ()


def _day(posted: str) -> str:
    """A date as people write it; what is none stays as it was typed."""
    try:
        day = date.fromisoformat(posted)
    except ValueError:
        return posted
    return f"{day.day} {day:%b %Y}"


def _moment(posted: str) -> str:
    """A date and time as people write it, in UTC as the form asks for it."""
    try:
        moment = datetime.fromisoformat(posted)
    except ValueError:
        return posted
    clock = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
    return f"{moment.day} {moment:%b %Y}, {clock} UTC"


_TIMES = {Kind.DATE: _day, Kind.DATETIME: _moment}


def _range(field: Field) -> str:
    bounds = field.bounds
    pairs = (
        ("at least", bounds.minimum),
        ("more than", bounds.exclusive_minimum),
        ("at most", bounds.maximum),
        ("less than", bounds.exclusive_maximum),
        ("a multiple of", bounds.multiple_of),
    )
    said = [f"{words} {limit}" for words, limit in pairs if limit is not None]
    return _sentence(said)


def _lengths(field: Field) -> str:
    bounds = field.bounds
    least, most, counted = bounds.min_length, bounds.max_length, characters
    if field.kind is Kind.CHOICES:
        least, most, counted = bounds.min_items, bounds.max_items, "{} to choose".format
    pairs = (("at least", least), ("at most", most))
    return _sentence([f"{words} {counted(count)}" for words, count in pairs if count is not None])


def _zone(field: Field) -> str:
    return "In UTC." if field.kind is Kind.DATETIME else ""


def _sentence(parts: list[str]) -> str:
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""
