"""Forms of the page that says how long things are kept."""

from typing import Any

from django import forms

from mcpdesk.keeping.holds import MAX_REASON_CHARS
from mcpdesk.keeping.settings import MAX_DAYS, MIN_LOG_DAYS, MIN_PAYLOAD_DAYS, Kept


def _days(label: str, least: int, help_text: str) -> forms.IntegerField:
    return forms.IntegerField(
        label=label, required=False, min_value=least, max_value=MAX_DAYS, help_text=help_text
    )


class RetentionForm(forms.Form):
    """Two numbers of days; left empty: for ever."""

    payload_days = _days(
        "Payloads, in days after a call has ended",
        MIN_PAYLOAD_DAYS,
        f"Arguments, questions, answers, results, reasons and comments. At least "
        f"{MIN_PAYLOAD_DAYS}; left empty, they are kept for ever.",
    )
    log_days = _days(
        "The log, in days",
        MIN_LOG_DAYS,
        f"Goes in whole sealed batches; their seals stay. At least {MIN_LOG_DAYS}; left empty, it "
        "is kept for ever.",
    )

    def kept(self) -> Kept:
        """The cleaned values."""
        return Kept(self.cleaned_data["payload_days"], self.cleaned_data["log_days"])


class LegalHoldForm(forms.Form):
    operation = forms.UUIDField(
        required=False,
        label="Operation",
        help_text="The id of one operation, as its address has it. Left empty: the whole team.",
    )
    reason = forms.CharField(
        max_length=MAX_REASON_CHARS,
        help_text="Admins and auditors read it. It stays when the hold is over.",
    )

    def values(self) -> dict[str, Any]:
        """The cleaned values, for `holds.begin`."""
        return {
            "operation_id": self.cleaned_data["operation"],
            "reason": self.cleaned_data["reason"],
        }
