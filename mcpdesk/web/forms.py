"""Forms of the Team page."""

from typing import Any

from django import forms

from mcpdesk.accounts.models import Role


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
