"""Operations, what they carried, and the calls that were made for them.

Payloads are encrypted, and stand beside the narrow row that every poll touches.
"""

import hashlib
import uuid
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from mcpdesk.accounts.models import ApiToken, Team
from mcpdesk.encryption import EncryptedJSONField
from tasks_monitor.models.servers import Answerers, Server
from tasks_monitor.states import State


class Operation(models.Model):
    """One logical tool call, from request to outcome, however many JSON-RPC requests it takes."""

    # each poll writes this row and every index it has: lists read HistoryEntry and its indexes
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, related_name="operations", db_index=False
    )
    server = models.ForeignKey(
        Server, on_delete=models.PROTECT, related_name="operations", db_index=False
    )
    tool_name = models.CharField(max_length=256)
    state = models.CharField(max_length=20, choices=State.choices)
    is_error = models.BooleanField(default=False, help_text="The tool itself reported an error.")
    adopted = models.BooleanField(default=False)

    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    # the token it was started with; with `started_by` null, a service started it
    token = models.ForeignKey(
        ApiToken, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    reason = models.CharField(max_length=500, blank=True)
    idempotency_key = models.CharField(max_length=200, null=True)
    questions_to = models.CharField(max_length=16, choices=Answerers.choices)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True, help_text="Ours; the server's is expires_at.")
    # why it ended or waits for an operator, in our words
    explanation = models.CharField(max_length=500, blank=True)
    error_code = models.BigIntegerField(null=True)
    # when calls of this tool have usually ended, with room to spare; later, operators are alerted
    expected_by = models.DateTimeField(null=True)
    # its payload was deleted: the team's retention, or a person's erasure
    payload_deleted_at = models.DateTimeField(null=True)

    cancel_requested_at = models.DateTimeField(null=True)
    cancel_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    cancel_sent_at = models.DateTimeField(null=True)
    cancels_unanswered = models.PositiveSmallIntegerField(default=0)

    # the queue: when the engine looks at this row next (null: nothing to do), and who holds it
    due_at = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    # something other than a plain poll is to be done or watched: an answer, a cancellation, a key
    attention = models.BooleanField(default=False)

    # the call
    attempts_made = models.PositiveIntegerField(default=0)
    round = models.PositiveIntegerField(default=0, help_text="MRTR rounds asked so far.")
    state_only_rounds = models.PositiveIntegerField(
        default=0, help_text="Rounds in a row that brought a requestState and no question."
    )
    repeatable = models.BooleanField(
        default=False, help_text="May be sent again after an unknown outcome."
    )
    # the trace that its requests to the server belong to (W3C Trace Context); empty: none
    traceparent = models.CharField(max_length=55, blank=True)
    # it waits at the gate to be sent again: the state it goes back to where it is not (empty: no)
    again_from = models.CharField(max_length=20, choices=State.choices, blank=True)
    # who had it sent again, last: for four eyes they started it too
    again_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    # the remote task
    task_id = EncryptedJSONField(null=True)
    task_hash = models.CharField(max_length=64, blank=True)
    task_created_at = models.DateTimeField(null=True)
    ttl_ms = models.BigIntegerField(null=True, help_text="Null: unlimited.")
    expires_at = models.DateTimeField(null=True)
    poll_interval_ms = models.BigIntegerField(null=True, help_text="As asked; null: not said.")
    poll_not_before = models.DateTimeField(null=True)
    polls = models.PositiveIntegerField(default=0)
    unchanged_polls = models.PositiveIntegerField(default=0)
    failed_polls = models.PositiveIntegerField(default=0)
    missing_polls = models.PositiveIntegerField(default=0)
    # polls in a row that said input_required and asked nothing new
    idle_input_polls = models.PositiveIntegerField(default=0)
    idle_input_since = models.DateTimeField(null=True)
    last_polled_at = models.DateTimeField(null=True)
    last_changed_at = models.DateTimeField(null=True)
    snapshot_digest = models.BinaryField(null=True, max_length=32)

    class Meta:
        constraints = [
            # engine.start: the same key returns the same operation
            models.UniqueConstraint(
                fields=["team", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="operation_once_per_key",
            ),
            # engine.adopt: one desk follows a handle once
            models.UniqueConstraint(
                fields=["server", "task_hash"],
                condition=Q(adopted=True),
                name="operation_adopts_a_task_once",
            ),
            models.CheckConstraint(
                condition=Q(state__in=State.values), name="operation_state_is_known"
            ),
            # terminal is final: nothing is due on a finished operation
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(due_at__isnull=True),
                name="operation_finished_is_not_due",
            ),
            models.CheckConstraint(
                condition=Q(lease_token__isnull=True, leased_until__isnull=True)
                | Q(lease_token__isnull=False, leased_until__isnull=False),
                name="operation_lease_is_whole",
            ),
        ]
        indexes = [
            # engine.claim: what is due, oldest first, per server
            models.Index(
                fields=["server", "due_at"],
                condition=Q(due_at__isnull=False),
                name="operation_due",
            ),
            # engine.expect: whose completion did not come
            models.Index(
                fields=["expected_by"],
                condition=Q(expected_by__isnull=False, finished_at__isnull=True),
                name="operation_expected",
            ),
            # engine.claim: requests in flight per server; engine.sweep: leases that ended
            models.Index(
                fields=["server", "leased_until"],
                condition=Q(leased_until__isnull=False),
                name="operation_leased",
            ),
            # engine.sweep, engine.hold, selectors.held_back: what has not ended
            models.Index(
                fields=["server", "state"],
                condition=Q(finished_at__isnull=True),
                name="operation_open",
            ),
            # keeping.due: whose payload the team's retention deletes next
            models.Index(
                fields=["team", "finished_at"],
                condition=Q(finished_at__isnull=False, payload_deleted_at__isnull=True),
                name="operation_with_payload",
            ),
            # engine.adopt: who follows a handle
            models.Index(
                fields=["task_hash"], condition=~Q(task_hash=""), name="operation_by_task"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} ({self.get_state_display()})"

    @property
    def starter(self) -> str:
        """Who started it: a person's name, or a service's."""
        if self.started_by is not None:
            return str(self.started_by)
        return self.token.name if self.token is not None else "a service"

    @property
    def api_key(self) -> str | None:
        """The idempotency key as the program gave it that started this; None: none did."""
        key = self.idempotency_key or ""
        return key.removeprefix(API_KEY) if key.startswith(API_KEY) else None

    @property
    def has_task(self) -> bool:
        return bool(self.task_hash)

    @property
    def task_was_seen(self) -> bool:
        """Whether the server ever said anything of this task: an id that a person gave may be
        wrong.
        """
        said, made = self.last_changed_at, self.task_created_at
        since = said is not None and (made is None or said >= made)
        return self.has_task and (self.snapshot_digest is not None or since)

    @property
    def task_is_checked(self) -> bool:
        """Whether the desk goes on asking after the task; past its bounds (sweep) it does not."""
        return self.has_task and (self.due_at is not None or self.lease_token is not None)

    @property
    def task_label(self) -> str:
        """A short hash that names the task in logs and pages; the id itself can be a secret."""
        return self.task_hash[:12]


#: How keys that a program gave through the API begin; those of the desk's own forms do not.
API_KEY: Final = "api:"


def hash_task_id(task_id: str) -> str:
    """SHA-256 (hex) of a task id, for look-up without keeping the id in clear."""
    return hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()


class Payload(models.Model):
    """What an operation carried, apart from the row that polls touch; has its own retention."""

    operation = models.OneToOneField(
        Operation, primary_key=True, on_delete=models.CASCADE, related_name="payload"
    )
    arguments = EncryptedJSONField(null=True)
    # exactly as it came; null: none came, and none goes back
    request_state = EncryptedJSONField(null=True)
    status_message = EncryptedJSONField(null=True)
    result = EncryptedJSONField(null=True)
    # the JSON-RPC error {"code", "message", "data"}
    error = EncryptedJSONField(null=True)
    # notes on what the server did that the specification does not allow
    notes = EncryptedJSONField(null=True)
    # what operators decided about it: [{"at" (ISO 8601, UTC), "by", "choice", "reason"}, ...]
    decisions = EncryptedJSONField(null=True)

    def __str__(self) -> str:
        return f"payload of {self.operation_id}"


class AttemptOutcome(models.TextChoices):
    PENDING = "", "On its way"
    ANSWERED = "answered", "Answered"
    NOT_SENT = "not_sent", "Did not leave"
    UNKNOWN = "unknown", "Outcome unknown"


class Attempt(models.Model):
    """One `tools/call` request; written before its bytes leave."""

    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    request_id = models.BigIntegerField(help_text="The JSON-RPC id; never used twice.")
    round = models.PositiveIntegerField()
    sent_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=12, choices=AttemptOutcome.choices, blank=True)
    problem = models.CharField(max_length=500, blank=True)
    # the handle this very call brought, also where it came too late for the operation
    task_id = EncryptedJSONField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["operation", "number"], name="attempt_number_once"),
            # one call of an operation is on its way at a time
            models.UniqueConstraint(
                fields=["operation"], condition=Q(outcome=""), name="one_attempt_on_its_way"
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.operation_id}"
