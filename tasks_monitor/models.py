"""What the engine keeps: servers and their tools, operations, attempts, questions, deliveries.

PostgreSQL holds the invariants; each constraint and index names the rule or query it serves.
Payloads (arguments, results, questions, answers, `requestState`, credentials, task ids) are
encrypted, and stand beside the narrow rows that every poll touches.
"""

import hashlib
import uuid
from typing import Any, Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q

from mcpdesk.accounts.models import ApiToken, Team
from mcpdesk.encryption import EncryptedJSONField
from tasks_monitor.states import State


class Era(models.TextChoices):
    """Which generation of the protocol a server speaks (basic/versioning)."""

    UNTESTED = "", "Not tested yet"
    MODERN = "modern", "Modern (2026-07-28 or later)"
    LEGACY = "legacy", "Legacy (initialize handshake)"


class AuthKind(models.TextChoices):
    NONE = "none", "None"
    BEARER = "bearer", "Bearer token"
    HEADERS = "headers", "Custom headers"


class Answerers(models.TextChoices):
    """Whom a server's questions are put to."""

    REQUESTER = "requester", "Whoever starts the operation"
    APPROVERS = "approvers", "The team's approvers"


class Server(models.Model):
    """One MCP endpoint *and the identity we use on it*: a task id means nothing without it."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="servers")
    name = models.SlugField(max_length=40)
    url = models.CharField(max_length=2000)
    identity = models.CharField(max_length=80, blank=True, help_text="Who we are on this server.")
    auth_kind = models.CharField(max_length=8, choices=AuthKind.choices, default=AuthKind.NONE)
    # {"headers": [[name, value], ...]}; never shown again, replaced as a whole
    credential = EncryptedJSONField(null=True)
    allow_private = models.BooleanField(default=False)
    questions_to = models.CharField(
        max_length=16, choices=Answerers.choices, default=Answerers.REQUESTER
    )
    paused = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    # limits
    max_in_flight = models.PositiveSmallIntegerField(default=8)
    call_timeout_s = models.PositiveIntegerField(default=60)

    # what the last test found
    era = models.CharField(max_length=8, choices=Era.choices, default=Era.UNTESTED, blank=True)
    protocol_version = models.CharField(max_length=32, blank=True)
    # {"serverInfo", "capabilities", "instructions", "supportedVersions"}
    discovery = EncryptedJSONField(null=True)
    tested_at = models.DateTimeField(null=True)
    test_problem = models.TextField(blank=True)
    tools_fetched_at = models.DateTimeField(null=True)
    tools_fresh_until = models.DateTimeField(null=True)

    # health, as the engine meets it
    not_before = models.DateTimeField(null=True, help_text="Nothing is sent earlier (UTC).")
    not_before_reason = models.CharField(max_length=16, blank=True)
    unreachable_since = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    last_ok_at = models.DateTimeField(null=True)
    last_problem = models.CharField(max_length=500, blank=True)
    # null: there is none, or it is from before its time was kept
    last_problem_at = models.DateTimeField(null=True)
    clock_skew_ms = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="server_name_per_team"),
            # engine.claim: a server with no slot would never be claimed, silently
            models.CheckConstraint(condition=Q(max_in_flight__gte=1), name="server_has_a_slot"),
        ]

    def __str__(self) -> str:
        return self.name


class Tool(models.Model):
    """One tool as the server described it when its list was last read."""

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="tools")
    name = models.CharField(max_length=256)
    definition = EncryptedJSONField()
    # why the tool is left out (InvalidToolHeader and such); empty: it can be called
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["server", "name"], name="tool_name_per_server")
        ]

    def __str__(self) -> str:
        return self.name


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
    def api_key(self) -> str | None:
        """The idempotency key as the program gave it that started this; None: none did."""
        key = self.idempotency_key or ""
        return key.removeprefix(API_KEY) if key.startswith(API_KEY) else None

    @property
    def has_task(self) -> bool:
        return bool(self.task_hash)

    @property
    def task_label(self) -> str:
        """A short hash that names the task in logs and pages; the id itself can be a secret."""
        return self.task_hash[:12]


#: What the longest can be listed of.
_LONGEST = {
    "": ["team"],
    "_of_server": ["server"],
    "_of_tool": ["team", "tool_name"],
    "_of_starter": ["team", "started_by"],
    "_of_state": ["team", "state"],
}


class HistoryEntry(models.Model):
    """An operation as lists and charts read it, apart from the row that every poll touches: what is
    indexed here costs polls nothing. Written with each change of state, in its transaction.
    """

    operation = models.OneToOneField(
        Operation, primary_key=True, on_delete=models.CASCADE, related_name="history"
    )
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+", db_index=False)
    server = models.ForeignKey(Server, on_delete=models.PROTECT, related_name="+", db_index=False)
    tool_name = models.CharField(max_length=256)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    state = models.CharField(max_length=20, choices=State.choices)
    is_error = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    state_since = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    # how long it waited for people, and how long for the server (ms), up to `state_since`
    people_ms = models.BigIntegerField(default=0)
    server_ms = models.BigIntegerField(default=0)
    # from beginning to end (ms)
    took_ms = models.BigIntegerField(null=True)
    # keyed hashes of the words it can be found by: what they stand for is encrypted elsewhere
    words = ArrayField(models.BigIntegerField(), default=list)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(took_ms__isnull=False),
                name="history_of_what_ended_is_whole",
            ),
        ]
        indexes = [
            # engine.expect: the last calls of a tool that ended well
            models.Index(
                fields=["server", "tool_name", "-finished_at"],
                include=["server_ms"],
                condition=Q(state=State.COMPLETED, is_error=False),
                name="history_ended_well",
            ),
            # mcpdesk.ops.metrics: the backlog by state
            models.Index(
                fields=["team", "state"],
                condition=Q(finished_at__isnull=True),
                name="history_unfinished",
            ),
            # charts: what ended within a range; all that they count and measure stands in the index
            models.Index(
                fields=["team", "finished_at"],
                include=["server", "tool_name", "state", "is_error", "server_ms"],
                condition=Q(finished_at__isnull=False),
                name="history_ended",
            ),
            # charts, and the dashboard's longest waiting: what broke and nobody reconciled
            models.Index(
                fields=["team", "state_since"],
                include=["server", "tool_name", "state"],
                condition=Q(state__in=[State.LOST, State.STUCK, State.UNKNOWN]),
                name="history_broken",
            ),
            # history.page: each begins with what narrows, and goes on in the order of the list
            models.Index(fields=["team", "created_at", "operation"], name="history_by_age"),
            models.Index(
                fields=["team", "state", "created_at", "operation"], name="history_by_state"
            ),
            models.Index(fields=["server", "created_at", "operation"], name="history_by_server"),
            models.Index(
                fields=["team", "tool_name", "created_at", "operation"], name="history_by_tool"
            ),
            models.Index(
                fields=["team", "started_by", "created_at", "operation"], name="history_by_starter"
            ),
            # the longest first; of what has ended, so that each is written once
            *(
                models.Index(
                    fields=[*begin, "took_ms", "operation"],
                    condition=Q(took_ms__isnull=False),
                    name=f"history_longest{of}",
                )
                for of, begin in _LONGEST.items()
            ),
            # the tool's own failures, among what completed
            models.Index(
                fields=["team", "created_at", "operation"],
                condition=Q(is_error=True),
                name="history_of_tool_errors",
            ),
            GinIndex(fields=["words"], name="history_words"),
        ]

    def __str__(self) -> str:
        return f"history of {self.operation_id}"


class Expectation(models.Model):
    """How long a tool's calls usually take: learned, or set by an admin (s)."""

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="expectations")
    tool_name = models.CharField(max_length=256)
    limit_s = models.PositiveIntegerField(null=True)
    # the 95th percentile of what ended well lately (ms), and of how many
    usual_ms = models.BigIntegerField(null=True)
    samples = models.PositiveIntegerField(default=0)
    learned_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["server", "tool_name"], name="expectation_per_tool"),
        ]

    def __str__(self) -> str:
        return f"how long {self.tool_name} takes"


class Tally(models.Model):
    """How many operations of a server ended in one way, and how long they took, since the desk
    began: what metrics count without reading the history from its beginning.
    """

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="tallies")
    state = models.CharField(max_length=20, choices=State.choices)
    is_error = models.BooleanField()
    count = models.BigIntegerField()
    # sums (ms), and how many took at most as long as each of engine.tally.BUCKETS_S
    server_ms = models.BigIntegerField()
    server_buckets = ArrayField(models.BigIntegerField())
    people_ms = models.BigIntegerField()
    people_buckets = ArrayField(models.BigIntegerField())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["server", "state", "is_error"], name="one_tally_per_ending"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.count} {self.get_state_display()}"


class TallyMark(models.Model):
    """Up to when (UTC) the history is counted in the tallies; one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    up_to = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_tally_mark")]

    def __str__(self) -> str:
        return f"counted up to {self.up_to:%Y-%m-%d %H:%M:%S}"


class RepairState(models.TextChoices):
    PROPOSED = "proposed", "Waits for a second person"
    DONE = "done", "Carried out"
    REFUSED = "refused", "Refused by a second person"
    WITHDRAWN = "withdrawn", "Withdrawn"


class Repair(models.Model):
    """What an operator decided about an operation that the desk cannot follow (reconcile).

    Where the policy asks for four eyes, it is proposed first and a second person carries it out.
    """

    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, related_name="repairs")
    choice = models.CharField(max_length=16)
    # {"reason", "evidence", "task_id", "refused_because"?}
    content = EncryptedJSONField()
    state = models.CharField(max_length=9, choices=RepairState.choices)
    proposed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    proposed_at = models.DateTimeField()
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["proposed_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["operation"],
                condition=Q(state="proposed"),
                name="one_repair_proposed_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.choice} for {self.operation_id}"


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


class Hold(models.Model):
    """The kill switch: while it is on, nothing is sent to a server, or to any server of a team.

    Polls go on, and deadlines of ours stand still.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="holds")
    # null: the whole team
    server = models.ForeignKey(Server, null=True, on_delete=models.CASCADE, related_name="holds")
    reason = models.CharField(max_length=500)
    since = models.DateTimeField()
    begun_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            # hold.begin: one at a time for a team, and for a server
            models.UniqueConstraint(
                fields=["team", "server"],
                condition=Q(ended_at__isnull=True),
                nulls_distinct=False,
                name="one_hold_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"hold since {self.since:%Y-%m-%d %H:%M}"


class Heartbeat(models.Model):
    """When a kind of process was last seen at work; the health page and the clock read it."""

    process = models.CharField(max_length=16, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.process} at {self.at:%H:%M:%S}"
