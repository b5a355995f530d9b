"""For which later calls an approval counts, as fields: beside Approve, and after it."""

from django import forms

from approvals.remembered import MAX_HOURS, MIN_HOURS, Scope

_HOURS = (
    (1, "for an hour"),
    (8, "for 8 hours"),
    (24, "for a day"),
    (7 * 24, "for a week"),
    (MAX_HOURS, "for 30 days"),
)


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
    remember_hours = forms.TypedChoiceField(
        label="How long", coerce=int, choices=_HOURS, initial=MIN_HOURS
    )

    def scope(self) -> Scope:
        """What the fields say, once they are valid."""
        given = self.cleaned_data
        return Scope(
            any_arguments=given["remember_arguments"] == "any",
            whole_team=given["remember_for"] == "team",
            hours=given["remember_hours"],
        )
