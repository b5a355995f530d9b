"""Whom a rule asks, as fields: before the call, and for what the server asks during it."""

from typing import Any, Final

from django import forms

from approvals import policy
from approvals.models import Audience
from approvals.policy.reading_ask import MAX_DEADLINE_S, MAX_QUORUM, MAX_STEPS
from mcpdesk.durations import UNITS, DurationField

_MINUTE: Final = UNITS["minutes"]
_NUMBERS: Final = range(1, MAX_STEPS + 1)
_NOBODY: Final = ("", "Nobody else")
_BY_SETTING: Final = ("", "As the server or start form says")


def boxes() -> forms.CheckboxSelectMultiple:
    """A choice of several as check boxes."""
    return forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"})


class Step:
    """The fields of one step, for the template."""

    def __init__(self, form: "AskForm", number: int) -> None:
        self.number = number
        self.after = form[f"step{number}_after"]
        self.audience = form[f"step{number}_audience"]
        self.people = form[f"step{number}_people"]


class AskForm(forms.Form):
    """The part of a rule that policy.read_ask() takes; what it means is checked there."""

    audience = forms.ChoiceField(
        label="Who decides", choices=Audience.choices, initial=Audience.APPROVERS
    )
    people = forms.MultipleChoiceField(label="People who decide", required=False, widget=boxes())
    quorum = forms.IntegerField(
        label="How many must approve", min_value=1, max_value=MAX_QUORUM, initial=1
    )
    four_eyes = forms.BooleanField(
        label="Four eyes: whoever starts it cannot approve it", required=False, initial=True
    )
    deadline = DurationField(
        label="Deadline",
        least=_MINUTE,
        most=MAX_DEADLINE_S,
        required=False,
        initial=7 * UNITS["days"],
        help_text="Empty: none. Nothing is ever allowed by a deadline.",
    )
    at_deadline = forms.ChoiceField(
        label="At the deadline", choices=(("expire", "It expires"), ("deny", "It is denied"))
    )
    remember = forms.BooleanField(
        label="Whoever approves may have it remembered for later calls",
        required=False,
        help_text="For an hour to 30 days; listed under “Remembered approvals”, and taken back "
        "there.",
    )

    def __init__(self, *args: Any, people: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["people"].choices = people  # type: ignore[attr-defined]
        for number in _NUMBERS:
            self.fields[f"step{number}_after"] = DurationField(
                label="After", least=_MINUTE, most=MAX_DEADLINE_S, required=False
            )
            self.fields[f"step{number}_audience"] = forms.ChoiceField(
                label="Also ask", choices=[_NOBODY, *Audience.choices], required=False
            )
            self.fields[f"step{number}_people"] = forms.MultipleChoiceField(
                label="People of this step", choices=people, required=False, widget=boxes()
            )

    @property
    def steps(self) -> list[Step]:
        return [Step(self, number) for number in _NUMBERS]

    @property
    def has_steps(self) -> bool:
        """Whether any step says anything, or is wrong: it must not stay folded."""
        said = [(step.after.value(), step.audience.value()) for step in self.steps]
        return any(audience or _number(after) for after, audience in said)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        for number in _NUMBERS:
            after, audience = given.get(f"step{number}_after"), given.get(f"step{number}_audience")
            if audience and after is None and f"step{number}_after" not in self.errors:
                self.add_error(f"step{number}_after", "Say after how long.")
            if after is not None and not audience:
                self.add_error(f"step{number}_audience", "Say who is asked then.")
        return given

    def raw(self) -> dict[str, Any] | None:
        """What the fields say, as policy.read_ask() takes it."""
        given = self.cleaned_data
        return {
            "audience": given["audience"],
            "people": _people(given["audience"], given["people"]),
            "quorum": given["quorum"],
            "four_eyes": given["four_eyes"],
            "deadline_s": given["deadline"],
            "at_deadline": given.get("at_deadline", "expire"),
            "escalation": [self._step(number) for number in _NUMBERS if self._is_step(number)],
            "remember": given.get("remember", False),
        }

    def _is_step(self, number: int) -> bool:
        return bool(self.cleaned_data[f"step{number}_audience"])

    def _step(self, number: int) -> dict[str, Any]:
        given = self.cleaned_data
        audience = given[f"step{number}_audience"]
        return {
            "after_s": given[f"step{number}_after"],
            "audience": audience,
            "people": _people(audience, given[f"step{number}_people"]),
        }


class QuestionsForm(AskForm):
    """Who answers what the server asks; that can only expire, and is never remembered."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["at_deadline"], self.fields["remember"]
        audience = self.fields["audience"]
        audience.label, audience.required, audience.initial = "Who answers", False, ""
        audience.choices = [_BY_SETTING, *Audience.choices]  # type: ignore[attr-defined]
        self.fields["people"].label = "People who answer"
        self.fields["quorum"].label = "How many must agree on the answer"
        self.fields["quorum"].required = False
        self.fields["four_eyes"].label = "Four eyes: whoever starts it cannot answer"
        self.fields["four_eyes"].initial = False
        self.fields["deadline"].initial = None
        self.fields["deadline"].help_text = "Empty: none of ours. It can only expire."

    def raw(self) -> dict[str, Any] | None:
        """As policy.read_questions() takes it; None: the rule says nothing of questions."""
        if not self.cleaned_data["audience"]:
            return None
        return {**(super().raw() or {}), "quorum": self.cleaned_data["quorum"] or 1}


def initial_of(ask: policy.Ask) -> dict[str, Any]:
    """What a rule says, as the form's fields."""
    initial: dict[str, Any] = {
        "audience": ask.audience.value,
        "people": [str(pk) for pk in ask.people],
        "quorum": ask.quorum,
        "four_eyes": ask.four_eyes,
        "deadline": ask.deadline_s,
        "at_deadline": ask.at_deadline.value,
        "remember": ask.remember,
    }
    for number, step in enumerate(ask.escalation, start=1):
        initial[f"step{number}_after"] = step.after_s
        initial[f"step{number}_audience"] = step.audience.value
        initial[f"step{number}_people"] = [str(pk) for pk in step.people]
    return initial


def _number(after: Any) -> Any:
    """The number of a duration, as it was posted (with its unit) or as it stands (seconds)."""
    return after[0] if isinstance(after, list) else after


def _people(audience: str, chosen: list[str]) -> list[int]:
    return [int(one) for one in chosen] if audience == Audience.PEOPLE else []
