"""Forms about operations and servers."""

from typing import Any

from django import forms

from tasks_monitor.engine.hold import MAX_REASON_CHARS
from tasks_monitor.engine.servers import bearer
from tasks_monitor.models import Answerers, AuthKind, Server

_OFF = {"autocomplete": "off", "spellcheck": "false"}


class HoldForm(forms.Form):
    """Why nothing is to be sent any more."""

    reason = forms.CharField(
        label="Why",
        max_length=MAX_REASON_CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Everybody in the team reads it, on every page.",
        error_messages={"required": "Say why: everybody in the team reads it on every page."},
    )


class AdoptForm(forms.Form):
    """A task that some other client made."""

    server = forms.ModelChoiceField(queryset=Server.objects.none(), empty_label="Choose a server")
    tool_name = forms.CharField(label="Tool", max_length=256, help_text="The tool that was called.")
    task_id = forms.CharField(
        label="Task id",
        max_length=4096,
        widget=forms.TextInput(attrs=_OFF),
        help_text="As the server gave it. Whoever has it can read the task, so it is kept "
        "encrypted and not shown again.",
    )
    questions_to = forms.ChoiceField(
        label="Questions of the server go to", choices=Answerers.choices
    )
    reason = forms.CharField(required=False, max_length=500)

    def __init__(self, *args: Any, servers: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["server"].queryset = servers  # type: ignore[attr-defined]


class ServerForm(forms.Form):
    """A server's address, our identity on it, and the credential (which is never shown again)."""

    name = forms.CharField(
        max_length=40, help_text="Short, for lists: small letters, digits, dashes, underscores."
    )
    url = forms.CharField(
        label="Address",
        max_length=2000,
        widget=forms.TextInput(
            attrs={"placeholder": "https://host.example/mcp", "inputmode": "url", **_OFF}
        ),
        help_text="Fixed once added: a task id means nothing on another server.",
    )
    identity = forms.CharField(
        max_length=80,
        required=False,
        help_text="Who we are there, such as platform-bot. Shown beside every question it asks.",
    )
    questions_to = forms.ChoiceField(
        label="Its questions go to",
        choices=Answerers.choices,
        help_text="Can be changed for a single operation when it is started.",
    )
    allow_private = forms.BooleanField(
        required=False,
        label="It stands on a private or local address",
        help_text="Otherwise such addresses are refused, also after a redirect or a DNS change.",
    )
    auth_kind = forms.ChoiceField(label="Sign-in to the server", choices=AuthKind.choices)
    token = forms.CharField(
        label="Bearer token",
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="For “Bearer token”. Encrypted, and never shown again.",
    )
    headers = forms.CharField(
        label="Headers",
        required=False,
        widget=forms.Textarea(
            attrs={"rows": 3, "class": "code", "placeholder": "X-Api-Key: …", **_OFF}
        ),
        help_text="For “Custom headers”: one “Name: value” a line. Never shown again.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        for kind, field in _SECRET_FIELDS.items():
            given = bool(cleaned.get(field))
            if given and cleaned.get("auth_kind") != kind:
                self.add_error(field, f"Choose “{kind.label}” above, or leave this empty.")
            if not given and cleaned.get("auth_kind") == kind and self.needs_secret:
                self.add_error(field, "Needed for this kind of sign-in.")
        return cleaned

    @property
    def needs_secret(self) -> bool:
        """Whether an empty secret is a mistake (when editing, it means: keep the stored one)."""
        return self.cleaned_data.get("auth_kind") != self.initial.get("auth_kind")

    def clean_headers(self) -> str:
        text: str = self.cleaned_data["headers"]
        if any(line.strip() and ":" not in line for line in text.splitlines()):
            raise forms.ValidationError("Write each line as “Name: value”.")
        return text

    def credential(self) -> dict[str, Any] | None:
        """The credential as the engine keeps it; None where none was typed."""
        cleaned = self.cleaned_data
        if cleaned["auth_kind"] == AuthKind.BEARER and cleaned["token"]:
            return bearer(cleaned["token"].strip())
        if cleaned["auth_kind"] == AuthKind.HEADERS and cleaned["headers"]:
            pairs = (line.split(":", 1) for line in cleaned["headers"].splitlines() if line.strip())
            return {"headers": [[name.strip(), value.strip()] for name, value in pairs]}
        return None

    def values(self) -> dict[str, Any]:
        """What `engine.servers.add_server` takes from the form."""
        kept = {k: v for k, v in self.cleaned_data.items() if k not in _SECRET_FIELDS.values()}
        return {**kept, "credential": self.credential()}


_SECRET_FIELDS = {AuthKind.BEARER: "token", AuthKind.HEADERS: "headers"}


class ServerChangeForm(ServerForm):
    """The same for a server that exists: without the address, with its limits."""

    url = None  # type: ignore[assignment]
    max_in_flight = forms.IntegerField(
        label="Requests at a time", min_value=1, max_value=100, help_text="At most so many at once."
    )
    call_timeout_s = forms.IntegerField(
        label="Time for a call (s)",
        min_value=1,
        max_value=3600,
        help_text="After that the outcome of a call counts as unknown.",
    )
    paused = forms.BooleanField(
        required=False,
        label="Paused",
        help_text="Nothing is sent while paused. Operations wait; questions stay answerable.",
    )
