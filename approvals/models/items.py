"""The items of the inbox: approvals, the votes on them, what people have typed and said."""

import uuid
from datetime import UTC, datetime
from typing import Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import BigIntegerField, F, Q
from django.db.models.functions import Cast, Extract

from approvals.models.choices import ApprovalState, Audience, Choice, Kind, Shape, Verdict
from mcpdesk.accounts.models import Team
from mcpdesk.encryption import EncryptedJSONField
from tasks_monitor.models import InputRequest, Operation, Server

#: A moment that is always over: the clock looks at the item at its next look.
AT_ONCE: Final = datetime(1970, 1, 1, tzinfo=UTC)


#: What the longest can be listed of.
_LONGEST = {
    "server": ["server"],
    "tool": ["team", "tool_name"],
    "starter": ["team", "started_by"],
}


class Approval(models.Model):
    """One item in the inbox; a link to it works for ever."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="approvals")
    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, related_name="approvals")
    # what the operation is, once more: lists are narrowed by it without reading operations
    server = models.ForeignKey(Server, on_delete=models.PROTECT, related_name="+", db_index=False)
    tool_name = models.CharField(max_length=256)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )
    # intake takes each question in once, however often it is rung
    input_request = models.OneToOneField(
        InputRequest, null=True, on_delete=models.CASCADE, related_name="approval"
    )
    kind = models.CharField(max_length=8, choices=Kind.choices)
    shape = models.CharField(max_length=9, choices=Shape.choices)
    audience = models.CharField(max_length=12, choices=Audience.choices)
    # they are asked beside the audience: named by the rule, or added by an escalation
    people = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="approvals_put_to"
    )
    state = models.CharField(
        max_length=12, choices=ApprovalState.choices, default=ApprovalState.OPEN
    )
    # goes up with every change a form must not survive; part of the signed binding
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    deadline_at = models.DateTimeField(null=True)
    # the rule and its ask part as they were when the item was made (policy.Snapshot): changing a
    # rule never changes an approval that exists. Null: a question that no rule spoke of
    policy = models.JSONField(null=True)
    # access.put_to: whoever started it may not decide, whatever their role
    four_eyes = models.BooleanField(default=False)
    # what somebody proposed to answer and others are to confirm: {"action", "content"?}
    proposal = EncryptedJSONField(null=True)
    proposed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    # somebody works on it; over by itself at `claimed_until`
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    claimed_until = models.DateTimeField(null=True)
    # how long its deadlines stood still (s), because its server or team was on hold
    held_s = models.PositiveIntegerField(default=0)
    # how many of the reminders (at half and at nine tenths of its time) are behind it
    reminders = models.PositiveSmallIntegerField(default=0)
    # how many of the escalation steps in `policy` were taken
    escalations = models.PositiveSmallIntegerField(default=0)
    # the queue of the clock: when it looks at this item next, while it is open
    look_at = models.DateTimeField(default=AT_ONCE)
    # fewer people are left than have to decide; null: enough are, or it was not looked at yet
    nobody_since = models.DateTimeField(null=True)
    decision = models.CharField(
        max_length=8, choices=[*Choice.choices, *Verdict.choices], blank=True
    )
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    closed_at = models.DateTimeField(null=True)
    # from its making to its end (ms); null: it is open
    took_ms = models.GeneratedField(
        expression=Cast(
            Extract(F("closed_at") - F("created_at"), "epoch") * 1000, BigIntegerField()
        ),
        output_field=BigIntegerField(null=True),
        db_persist=True,
    )
    # keyed hashes of the words it can be found by: what they stand for is encrypted elsewhere
    words = ArrayField(BigIntegerField(), default=list)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind=Kind.GATE) | Q(input_request__isnull=False),
                name="approval_answers_a_question",
            ),
            # decide_gate reads who may decide from the snapshot, never from the rules of today
            models.CheckConstraint(
                condition=Q(kind=Kind.ANSWER) | Q(policy__isnull=False),
                name="approval_gate_has_its_policy",
            ),
            # gate.request_start makes it with its operation, gate.ask_again another one: what is to
            # be sent is asked for once at a time
            models.UniqueConstraint(
                fields=["operation"],
                condition=Q(kind=Kind.GATE, state="open"),
                name="one_open_gate_per_operation",
            ),
            # a decision is whole: what, when and who, or nothing
            models.CheckConstraint(
                condition=Q(decision="", decided_at__isnull=True)
                | (~Q(decision="") & Q(decided_at__isnull=False, decided_by__isnull=False)),
                name="approval_decision_is_whole",
            ),
            # work.claim: who and until when go together
            models.CheckConstraint(
                condition=Q(claimed_by__isnull=True, claimed_until__isnull=True)
                | Q(claimed_by__isnull=False, claimed_until__isnull=False),
                name="approval_claim_is_whole",
            ),
        ]
        indexes = [
            # selectors.inbox: what is open in a team, oldest first; the badge counts the same
            models.Index(
                fields=["team", "created_at"],
                condition=Q(state="open"),
                name="approval_open",
            ),
            models.Index(fields=["team", "-closed_at"], name="approval_closed"),
            # pace.people_paces: what was decided within a range, with all that the chart reads
            models.Index(
                fields=["team", "decided_at"],
                include=["server", "tool_name", "took_ms"],
                condition=Q(decided_at__isnull=False),
                name="approval_decided",
            ),
            # history.page: each begins with what narrows, and goes on in the order of the list
            models.Index(fields=["team", "created_at", "id"], name="approval_by_age"),
            models.Index(fields=["team", "state", "created_at", "id"], name="approval_by_state"),
            models.Index(
                fields=["team", "decision", "created_at", "id"], name="approval_by_decision"
            ),
            models.Index(fields=["server", "created_at", "id"], name="approval_by_server"),
            # the server orders nothing: of another server's tool of that name no item is read
            models.Index(
                fields=["team", "tool_name", "created_at", "id", "server"], name="approval_by_tool"
            ),
            models.Index(
                fields=["team", "started_by", "created_at", "id"], name="approval_by_starter"
            ),
            models.Index(fields=["team", "took_ms", "id"], name="approval_by_time_taken"),
            # the longest of what has ended, so that each is written once
            *(
                models.Index(
                    fields=[*begin, "took_ms", "id"],
                    condition=Q(took_ms__isnull=False),
                    name=f"approval_longest_of_{of}",
                )
                for of, begin in _LONGEST.items()
            ),
            GinIndex(fields=["words"], name="approval_words"),
            # clockwork.look: what the clock is to look at, longest due first
            models.Index(fields=["look_at"], condition=Q(state="open"), name="approval_to_look_at"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.pk}"

    @property
    def is_open(self) -> bool:
        return self.state == ApprovalState.OPEN

    @property
    def ends_at(self) -> datetime | None:
        """Whichever deadline comes first, ours or the server's (UTC)."""
        deadlines = (self.deadline_at, self.operation.expires_at)
        return min((at for at in deadlines if at is not None), default=None)

    @property
    def sends_again(self) -> bool:
        """Whether this gate is about a call that was sent before and broke (gate.ask_again)."""
        return self.kind == Kind.GATE and self.created_at != self.operation.created_at

    @property
    def asked_by(self) -> str:
        """Who asked for what this item is about: to send the call again, or to make it."""
        again_by = self.operation.again_by if self.sends_again else None
        return str(again_by or self.operation.starter)

    @property
    def overrun(self) -> str:
        """Whose time ran out on an item that expired, ours or the server's, in words."""
        is_ours = self.deadline_at and self.closed_at and self.deadline_at <= self.closed_at
        return "our own deadline passed" if is_ours else "the server's time for it ran out"


class Vote(models.Model):
    """What one person said, once per version of the question; on a gate until it is decided."""

    approval = models.ForeignKey(Approval, on_delete=models.CASCADE, related_name="votes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    version = models.PositiveIntegerField()
    choice = models.CharField(max_length=8, choices=[*Choice.choices, *Verdict.choices])
    at = models.DateTimeField()
    # in the voter's words; null: none given
    reason = EncryptedJSONField(null=True)
    # whose stand-in the voter was; that person and the voter count once together
    acted_for = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["approval", "user", "version"], name="one_vote_per_person"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.choice}"


class Draft(models.Model):
    """What a person has typed and not sent, and whether they said "Not now"; theirs alone."""

    approval = models.ForeignKey(Approval, on_delete=models.CASCADE, related_name="drafts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    # {field name: string or list of strings} as the browser posts them
    submitted = EncryptedJSONField(null=True)
    saved_at = models.DateTimeField(null=True)
    snoozed_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["approval", "user"], name="one_draft_per_person")
        ]

    def __str__(self) -> str:
        return f"draft of {self.user}"


class Look(models.Model):
    """The first time a person opened an item, for its timeline."""

    approval = models.ForeignKey(Approval, on_delete=models.CASCADE, related_name="looks")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["approval", "user"], name="one_first_look_per_person")
        ]

    def __str__(self) -> str:
        return f"{self.user} opened {self.approval_id}"


class Comment(models.Model):
    """What colleagues say to each other about an item; nothing of it goes to the server."""

    approval = models.ForeignKey(Approval, on_delete=models.CASCADE, related_name="comments")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    text = EncryptedJSONField()
    at = models.DateTimeField()
    mentions = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="+")

    class Meta:
        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return f"comment of {self.user}"
