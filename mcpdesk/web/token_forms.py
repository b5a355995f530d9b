"""The forms of the token pages."""

from typing import Any, cast

from django import forms
from django.core.validators import validate_slug

from mcpdesk.accounts import tokens
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.tokens import Scope

_DAYS = [("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "a year")]


class TokenForm(forms.Form):
    """What a new token is called, what it may be used for, and how long."""

    name = forms.CharField(max_length=60, help_text="What uses it, so that you know it again.")
    scopes = forms.MultipleChoiceField(
        label="It may be used to", widget=forms.CheckboxSelectMultiple
    )
    days = forms.ChoiceField(label="It ends after", choices=_DAYS, initial="90")

    def __init__(self, *args: Any, holder: Member, **more: Any):
        super().__init__(*args, **more)
        scopes = cast(forms.MultipleChoiceField, self.fields["scopes"])
        scopes.choices = [(scope.value, scope.label) for scope in tokens.scopes_of(holder)]

    def values(self) -> dict[str, Any]:
        """The cleaned values, for the verbs of mcpdesk.web.tokens."""
        cleaned = self.cleaned_data
        scopes = [Scope(scope) for scope in cleaned["scopes"]]
        days = int(cleaned["days"]) if cleaned["days"] else None
        return {"name": cleaned["name"], "scopes": scopes, "days": days}


class ServiceForm(TokenForm):
    """The same for a service, whose name stands in the log where a person's would."""

    name = forms.CharField(
        max_length=60,
        validators=[validate_slug],
        help_text="Letters, digits, - and _. The log calls it by this name.",
    )
    days = forms.ChoiceField(
        label="It ends after",
        choices=[*_DAYS, ("", "never")],
        initial="365",
        required=False,
    )
