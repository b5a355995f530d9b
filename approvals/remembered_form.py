"""For which later calls an approval counts, as fields: beside Approve, and after it."""

from django import forms

from approvals.remembered import MAX_HOURS, MIN_HOURS, Scope
from mcpdesk.durations import UNITS, DurationField

_HOUR = UNITS["hours"]


class RememberForm(forms.Form):
    """What is said here is checked by remembered.leave()."""

    remember_arguments = forms.ChoiceField(
        label="For calls with",
        choices=(("same", "exactly these arguments"), ("any", "any arguments")),
    )
    remember_for = forms.ChoiceField(
        label="Started by",
        choices=(("starter", "the same person"), ("team", "anybody who may start it")),
    )
    remember_long = DurationField(
        label="How long",
        least=MIN_HOURS * _HOUR,
        most=MAX_HOURS * _HOUR,
        units=("hours", "days"),
        initial=MIN_HOURS * _HOUR,
    )

    def scope(self) -> Scope:
        """What the fields say, once they are valid."""
        given = self.cleaned_data
        return Scope(
            any_arguments=given["remember_arguments"] == "any",
            whole_team=given["remember_for"] == "team",
            hours=given["remember_long"] // _HOUR,
        )
