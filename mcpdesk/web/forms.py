"""Forms of the Team page and the start page."""

from typing import Any

from django import forms

from mcpdesk.accounts.models import Role
from tasks_monitor.models import Answerers


class AddMemberForm(forms.Form):
    email = forms.EmailField(label="E-mail address", max_length=254)
    name = forms.CharField(
        max_length=120, required=False, help_text="Kept as it is for somebody who has an account."
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.APPROVER)
    password = forms.CharField(
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="For a new account. Left empty, the desk makes one and shows it once.",
    )

    def values(self) -> dict[str, Any]:
        """The cleaned values, for `members.add_member`."""
        return {**self.cleaned_data, "role": Role(self.cleaned_data["role"])}


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)


class SupportForm(forms.Form):
    """For how long support staff may look at a team (h)."""

    hours = forms.TypedChoiceField(
        label="For how long",
        coerce=int,
        choices=[(1, "1 hour"), (8, "8 hours"), (24, "1 day"), (168, "7 days")],
        initial=8,
    )


class StartForm(forms.Form):
    """What goes with the arguments when a tool is started."""

    reason = forms.CharField(
        required=False,
        max_length=500,
        help_text="Why it is run. Whoever answers its questions reads this.",
    )
    questions_to = forms.ChoiceField(
        label="Questions of the server go to", choices=Answerers.choices
    )
    repeatable = forms.BooleanField(
        required=False,
        label="Safe to repeat",
        help_text="If the outcome of the call stays unknown, the desk may send it again by itself.",
    )
    # made when the form is shown: sending one form twice starts one operation
    key = forms.UUIDField(widget=forms.HiddenInput)

    def values(self) -> dict[str, Any]:
        """The cleaned values, for `approvals.gate.request_start`."""
        values = dict(self.cleaned_data)
        key = values.pop("key")
        return {**values, "idempotency_key": f"form:{key}"}
