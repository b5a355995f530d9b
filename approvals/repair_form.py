"""The form on which an operator says what becomes of an operation that broke."""

from typing import Any, Final

from django import forms

from approvals.repair import Wish
from approvals.repairable import CHOICES
from tasks_monitor.engine.reconcile import MAX_CHARS, Choice

_PLAIN: Final = {"autocomplete": "off", "spellcheck": "false"}


class RepairForm(forms.Form):
    """What is to become of it, why, and what the choice needs. Meaning is checked by the engine."""

    choice = forms.ChoiceField(
        choices=[(choice.value, words) for choice, (words, _) in CHOICES.items()],
        error_messages={"required": "Choose what is to happen."},
    )
    task_id = forms.CharField(
        label="Task id",
        required=False,
        max_length=4096,
        widget=forms.TextInput(attrs=_PLAIN),
        help_text="For “Attach a task id”: as the server shows it. The desk’s mark of a task is "
        "not its id.",
    )
    evidence = forms.CharField(
        label="What shows it",
        required=False,
        max_length=MAX_CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Needed for “Record as done”: a link, an id, what you saw and where.",
    )
    reason = forms.CharField(
        label="Why",
        max_length=MAX_CHARS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Kept with the operation, for whoever reads it later.",
        error_messages={"required": "Say why: it is kept with the operation."},
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        choice = cleaned.get("choice")
        if choice == Choice.ATTACH_TASK and not cleaned.get("task_id"):
            self.add_error("task_id", "Which task? Its id is needed for this choice.")
        if choice == Choice.RECORD_DONE and not cleaned.get("evidence"):
            self.add_error("evidence", "Say what shows that it was done.")
        return cleaned

    def wish(self) -> Wish:
        """What was chosen, as repair.propose() takes it."""
        given = self.cleaned_data
        return Wish(Choice(given["choice"]), given["reason"], given["evidence"], given["task_id"])
