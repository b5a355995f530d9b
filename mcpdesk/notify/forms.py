"""The forms of channels and of what one wants to be told."""

from typing import Any, cast

from django import forms
from django.core.validators import validate_email

from mcpdesk.http.addresses import BadAddress, origin_of
from mcpdesk.notify.channels import Wanted
from mcpdesk.notify.models import ChannelKind, Preference, Topic

MAX_ADDRESSES = 20
_OFF = {"autocomplete": "off", "spellcheck": "false"}
_BY_URL = (ChannelKind.WEBHOOK, ChannelKind.SLACK, ChannelKind.TEAMS)
_URL_HELP = {
    ChannelKind.WEBHOOK: "Events are posted there, signed (Standard Webhooks).",
    ChannelKind.SLACK: "The address of an incoming webhook of Slack.",
    ChannelKind.TEAMS: "The address of a Teams workflow that waits for a webhook request.",
}
_KEEPS = " It is not shown again. Left empty, it stays as it is."


def topic_boxes(label: str, topics: list[tuple[str, str]]) -> forms.MultipleChoiceField:
    widget = forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"})
    return forms.MultipleChoiceField(label=label, choices=topics, required=False, widget=widget)


#: Handing over is between two people; the rest can be of use to a whole team.
_FOR_CHANNELS = [
    (Topic.ASKED.value, "Something waits for a decision"),
    (Topic.REMINDER.value, "A reminder that it still waits"),
    (Topic.ESCALATION.value, "It is put to more people"),
    (Topic.COMMENT.value, "A comment was written"),
    (Topic.ALERT.value, Topic.ALERT.label),
    (Topic.ENDED.value, "A call ended, or cannot go on without somebody"),
]


class ChannelForm(forms.Form):
    """A channel of one kind. `stored`: it has a target already, and may keep it."""

    name = forms.CharField(max_length=60)
    url = forms.CharField(
        label="Address", max_length=2000, required=False, widget=forms.TextInput(attrs=_OFF)
    )
    addresses = forms.CharField(
        label="E-mail addresses",
        max_length=4000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, **_OFF}),
    )
    allow_private = forms.BooleanField(
        required=False,
        label="It stands on a private or local address",
        help_text="Counts only where the installation allows it too.",
    )
    topics = topic_boxes("It is told of", _FOR_CHANNELS)

    def __init__(self, *args: Any, kind: ChannelKind, stored: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind, self.stored = kind, stored
        unused = ["addresses"] if kind in _BY_URL else ["url", "allow_private"]
        for name in unused:
            del self.fields[name]
        target = self.fields["url" if kind in _BY_URL else "addresses"]
        target.help_text = _URL_HELP.get(kind, "One a line; each gets the mail.")
        target.help_text = str(target.help_text) + (_KEEPS if stored else "")
        target.required = not stored

    def clean_url(self) -> str:
        """An http or https address, or nothing where one is stored."""
        url = str(self.cleaned_data["url"]).strip()
        if url:
            try:
                origin_of(url)
            except BadAddress as bad:
                raise forms.ValidationError(str(bad)) from None
        return url

    def clean_addresses(self) -> list[str]:
        """Addresses, each of them valid."""
        found = str(self.cleaned_data["addresses"]).replace(",", " ").split()
        if len(found) > MAX_ADDRESSES:
            raise forms.ValidationError(f"A channel has at most {MAX_ADDRESSES} addresses.")
        for address in found:
            validate_email(address)
        return found

    def wanted(self) -> Wanted:
        """The channel that was filled in."""
        return Wanted(**self.cleaned_data)


class PreferenceForm(forms.ModelForm):  # type: ignore[type-arg]
    """How one person wants to be told."""

    topics = topic_boxes("Tell me of", Topic.choices)

    class Meta:
        model = Preference
        fields = ["topics", "email", "push", "timing", "daily_at", "quiet_from", "quiet_to"]
        labels = {
            "email": "By e-mail",
            "push": "In the browsers below",
            "timing": "Mail comes",
            "daily_at": "Once a day means at",
            "quiet_from": "Quiet from",
            "quiet_to": "Quiet until",
        }
        widgets = {
            name: forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
            for name in ("daily_at", "quiet_from", "quiet_to")
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("quiet_from", "quiet_to"):
            self.fields[name].required = False

    @property
    def ways(self) -> list[forms.BoundField]:
        """By which ways."""
        return [self[name] for name in ("email", "push")]

    @property
    def times(self) -> list[forms.BoundField]:
        """At which times."""
        return [self[name] for name in ("timing", "daily_at", "quiet_from", "quiet_to")]

    def clean(self) -> dict[str, Any]:
        """Quiet hours have a beginning and another end, or neither."""
        cleaned = cast(dict[str, Any], super().clean())
        start, end = cleaned.get("quiet_from"), cleaned.get("quiet_to")
        if (start is None) != (end is None):
            self.add_error("quiet_to", "Quiet hours need a beginning and an end, or neither.")
        elif start is not None and start == end:
            self.add_error("quiet_to", "The end is the beginning.")
        return cleaned
