"""The append-only log: the timeline of an operation and the audit trail are this one table."""

import uuid
from typing import Any

from django.conf import settings
from django.db import models

from mcpdesk.accounts.models import Team
from mcpdesk.audit.canonical import ERASED
from mcpdesk.audit.kinds import KINDS
from mcpdesk.audit.triggers import EVENT_TRIGGERS, SEAL_TRIGGERS


class Channel(models.TextChoices):
    """Where an event came from."""

    WEB = "web", "in the browser"
    WORKER = "worker", "by the desk"
    CLOCK = "clock", "by the clock"
    COMMAND = "command", "on the command line"
    API = "api", "through the API"


def shown(value: Any) -> Any:
    """A value of an event as people read it: an erased name is nobody's."""
    is_erased = isinstance(value, str) and value.startswith(ERASED)
    return "(an erased person)" if is_erased else value


class Event(models.Model):
    """One line. Rows above this layer are named by id: the log outlives what it speaks of."""

    at = models.DateTimeField()
    # neither has an index of its own: each of those of the table costs every event something
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=40)
    operation_id = models.UUIDField(null=True)
    approval_id = models.UUIDField(null=True)
    server_id = models.BigIntegerField(null=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    actor_name = models.CharField(max_length=120)
    channel = models.CharField(max_length=16, choices=Channel.choices)
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        indexes = [
            # audit.timeline(): one operation's events in order
            models.Index(fields=["operation_id", "id"], name="event_by_operation"),
            # the team's log, newest first; a seal's events; each filter of the log's page
            models.Index(fields=["team", "-id"], name="event_by_team"),
            models.Index(fields=["team", "kind", "-id"], name="event_by_kind"),
            models.Index(
                fields=["team", "server_id", "-id"],
                condition=models.Q(server_id__isnull=False),
                name="event_by_server",
            ),
            models.Index(
                fields=["approval_id", "id"],
                condition=models.Q(approval_id__isnull=False),
                name="event_by_approval",
            ),
            # partial: most events are the desk's own. The last columns do not order anything: where
            # two filters leave next to nothing of a person's events, none of the others is read
            models.Index(
                fields=["team", "actor", "-id", "kind", "channel"],
                condition=models.Q(actor__isnull=False),
                name="event_by_actor",
            ),
            models.Index(
                fields=["team", "channel", "-id"],
                condition=~models.Q(channel="worker"),
                name="event_by_channel",
            ),
        ]
        triggers = EVENT_TRIGGERS

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%dT%H:%M:%SZ} {self.sentence}"

    @property
    def sentence(self) -> str:
        """The event in words, for timelines."""
        known = KINDS.get(self.kind)
        if known is None:
            return self.kind
        return known.sentence.format_map(_Places(self.data, actor=self.actor_name))


class _Places(dict[str, Any]):
    """Fills a sentence's places; a field an old event does not have reads as a dash."""

    def __init__(self, data: dict[str, Any], **more: Any) -> None:
        super().__init__({name: shown(value) for name, value in {**data, **more}.items()})

    def __missing__(self, key: str) -> str:
        return "–"


class Seal(models.Model):
    """A batch of a team's events that was closed: signed, and chained to the seal before it.

    `lines` says of each event in the batch its id and a short hash, so that the first one that was
    changed, added, removed or moved can be named; `root` holds all of them in full. Every column
    is covered by a signature (mcpdesk.audit.chain).
    """

    pk = models.CompositePrimaryKey("team_id", "number")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="seals")
    number = models.PositiveIntegerField()
    first_event_id = models.BigIntegerField()
    last_event_id = models.BigIntegerField()
    event_count = models.PositiveIntegerField()
    # the times of its events lie between; mostly, not always, those of its first and last one
    earliest_at = models.DateTimeField()
    latest_at = models.DateTimeField()
    sealed_at = models.DateTimeField()
    # SHA-256 over the events' full hashes, in order
    root = models.BinaryField(max_length=32)
    lines = models.BinaryField()
    # what this seal signs of the one before it (SHA-256); zeros for a team's first
    previous = models.BinaryField(max_length=32)
    # Ed25519 (RFC 8032), and which key made it
    signature = models.BinaryField(max_length=64)
    key_id = models.CharField(max_length=16)
    # its events were removed when the team's retention ended; signed too
    pruned_at = models.DateTimeField(null=True)
    pruned_signature = models.BinaryField(max_length=64, null=True)

    class Meta:
        ordering = ["team", "number"]
        indexes = [
            # selectors: which ids the events of given days can have
            models.Index(fields=["team", "latest_at", "number"], name="seal_by_latest"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(last_event_id__gte=models.F("first_event_id")),
                name="seal_has_a_range",
            ),
        ]
        triggers = SEAL_TRIGGERS

    def __str__(self) -> str:
        return f"seal {self.number} of team {self.team_id}"


class Verification(models.Model):
    """How far a team's log was found whole, and the pass through it that is under way.

    A pass begins at the first seal, and goes on with each new one until the next pass begins.
    """

    team = models.OneToOneField(
        Team, primary_key=True, on_delete=models.PROTECT, related_name="verification"
    )
    # the latest seal up to which every one was found whole, by this pass or the one before
    verified_number = models.PositiveIntegerField(default=0)
    verified_digest = models.BinaryField(max_length=32, default=bytes(32))
    # when that one was made: everything that had happened by then is sealed and verified
    verified_to = models.DateTimeField(null=True)
    verified_at = models.DateTimeField(null=True)
    # this pass: where it stands
    begun_at = models.DateTimeField()
    number = models.PositiveIntegerField(default=0)
    events = models.PositiveBigIntegerField(default=0)
    # null: it has not come to the end of the log yet
    finished_at = models.DateTimeField(null=True)
    # the first that this pass found wrong, in words, and how many there are; empty: nothing
    finding = models.CharField(max_length=500, blank=True)
    findings = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"verification of the log of {self.team}"


class ExportFormat(models.TextChoices):
    CSV = "csv", "CSV"
    NDJSON = "ndjson", "NDJSON"


class Export(models.Model):
    """Who took what out of the desk: one download of a list, which can be taken up again."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="exports")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    # with `user` null: the service's name as it was then, whatever becomes of its token
    service = models.CharField(max_length=60, blank=True, default="")
    # "operations", "approvals", "events": which list
    subject = models.CharField(max_length=16)
    format = models.CharField(max_length=6, choices=ExportFormat.choices)
    # the list's filters, as its address has them
    query = models.CharField(max_length=2000)
    created_at = models.DateTimeField()
    # how far it came
    rows = models.PositiveBigIntegerField(default=0)
    cursor = models.CharField(max_length=200, blank=True)
    updated_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["team", "-created_at"], name="export_by_team")]

    def __str__(self) -> str:
        return f"export of {self.subject} by {self.begun_by}"

    @property
    def begun_by(self) -> str:
        """A person's name, or a service's; what a service began before those were kept says so."""
        return str(self.user) if self.user is not None else self.service or "a service"


class Retention(models.Model):
    """How long a team keeps things; without a row: for ever."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="retention")
    # arguments, questions, answers, results, reasons, comments of what ended so many days ago
    payload_days = models.PositiveIntegerField(null=True)
    # whole sealed batches of the log
    log_days = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return f"retention of {self.team}"


class LegalHold(models.Model):
    """While one is on, nothing of the team, or of one operation, is deleted or erased."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="legal_holds")
    # null: everything of the team
    operation_id = models.UUIDField(null=True)
    reason = models.CharField(max_length=500)
    since = models.DateTimeField()
    begun_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    end_reason = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-since"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "operation_id"],
                condition=models.Q(ended_at__isnull=True),
                nulls_distinct=False,
                name="one_legal_hold_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"legal hold since {self.since:%Y-%m-%d}"
