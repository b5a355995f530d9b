"""What servers ask, and the answers on their way back."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from mcpdesk.encryption import EncryptedJSONField
from tasks_monitor.models.operations import Operation


class InputRequestSource(models.TextChoices):
    MRTR = "mrtr", "Before the call went on"
    TASK = "task", "By the running task"


class InputRequestState(models.TextChoices):
    OPEN = "open", "Open"
    ANSWERED = "answered", "Answered"
    WITHDRAWN = "withdrawn", "Withdrawn by the server"
    SUPERSEDED = "superseded", "Replaced by a changed question"
    EXPIRED = "expired", "Expired"
    CLOSED = "closed", "Closed with the operation"


class InputRequest(models.Model):
    """One entry of `inputRequests`: a key and a server-to-client request."""

    operation = models.ForeignKey(
        Operation, on_delete=models.CASCADE, related_name="input_requests"
    )
    source = models.CharField(max_length=4, choices=InputRequestSource.choices)
    round = models.PositiveIntegerField()
    # hash of the key: a key may hold what PostgreSQL's text does not
    key_hash = models.CharField(max_length=64)
    key = EncryptedJSONField()
    revision = models.PositiveIntegerField(default=1)
    method = models.CharField(max_length=100)
    params = EncryptedJSONField(null=True)
    fingerprint = models.CharField(max_length=64)
    # why it cannot be asked here; empty: it can
    problem = models.CharField(max_length=500, blank=True)
    state = models.CharField(
        max_length=12, choices=InputRequestState.choices, default=InputRequestState.OPEN
    )
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    # bumped on each change that the layer above must take in, and what it has taken in
    version = models.PositiveIntegerField(default=1)
    taken_version = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["round", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["operation", "source", "round", "key_hash", "revision"],
                name="input_request_once",
            ),
            # the same key seen again is the same question: one open at a time
            models.UniqueConstraint(
                fields=["operation", "source", "round", "key_hash"],
                condition=Q(state="open"),
                name="one_open_input_request_per_key",
            ),
        ]
        indexes = [
            # approvals.intake: what the layer above has not taken in yet
            models.Index(
                fields=["id"],
                condition=~Q(version=F("taken_version")),
                name="input_request_untaken",
            ),
        ]

    def __str__(self) -> str:
        return f"input request {self.pk} of {self.operation_id}"


class DeliveryState(models.TextChoices):
    SAVED = "saved", "Saved"
    SENT = "sent", "Sent"
    ACKNOWLEDGED = "acknowledged", "Acknowledged"
    OBSERVED = "observed", "Applied"
    IGNORED = "ignored", "The server keeps asking"
    NOT_NEEDED = "not_needed", "No longer needed"


class Delivery(models.Model):
    """An answer on its way back to the server; the answer itself never changes."""

    input_request = models.OneToOneField(
        InputRequest, on_delete=models.CASCADE, related_name="delivery"
    )
    state = models.CharField(
        max_length=12, choices=DeliveryState.choices, default=DeliveryState.SAVED
    )
    # the ElicitResult: {"action", "content"?}
    response = EncryptedJSONField()
    action = models.CharField(max_length=8)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    saved_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    observed_at = models.DateTimeField(null=True)
    times_sent = models.PositiveIntegerField(default=0)
    # polls after the acknowledgement in which the key was still outstanding
    outstanding_polls = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        indexes = [
            # mcpdesk.ops.numbers: what is on its way
            models.Index(
                fields=["state"],
                condition=Q(state__in=["saved", "sent", "acknowledged", "ignored"]),
                name="delivery_under_way",
            ),
        ]

    def __str__(self) -> str:
        return f"delivery of input request {self.input_request_id}"

    def as_input_response(self) -> tuple[str, dict[str, Any]]:
        """(key, ElicitResult) as it goes into `inputResponses`."""
        return self.input_request.key, self.response
