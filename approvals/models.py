"""The inbox: approvals, the votes on them, and what people have typed so far."""

import uuid
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from mcpdesk.accounts.models import Team
from mcpdesk.encryption import EncryptedJSONField
from tasks_monitor.models import InputRequest, Operation


class Kind(models.TextChoices):
    GATE = "gate", "Run this tool?"
    ANSWER = "answer", "The server asks"


class Shape(models.TextChoices):
    """What kind of answer an item takes; fixed when it is made, so that lists can filter by it."""

    RUN = "run", "Run this tool?"
    CONFIRM = "confirm", "Confirm"
    FORM = "form", "Form"
    CHOOSE = "choose", "Choose"
    LINK = "link", "Open link"
    # it can be declined or cancelled
    UNSHOWN = "unshown", "Cannot be shown as a form"
    # it can only end with its operation
    UNOFFERED = "unoffered", "Not offered by this desk"


class Audience(models.TextChoices):
    """Who may decide, fixed when the approval is made (access.put_to reads it)."""

    REQUESTER = "requester", "whoever started it"
    APPROVERS = "approvers", "the team's approvers"
    PEOPLE = "people", "named people"


class ApprovalState(models.TextChoices):
    OPEN = "open", "Open"
    DECIDED = "decided", "Decided"
    WITHDRAWN = "withdrawn", "Withdrawn by the server"
    SUPERSEDED = "superseded", "Replaced by a changed question"
    EXPIRED = "expired", "Expired"
    CLOSED = "closed", "Closed with its operation"


class Choice(models.TextChoices):
    """What a person can say to a server's question (ElicitResult.action)."""

    ACCEPT = "accept", "Accepted"
    DECLINE = "decline", "Declined"
    CANCEL = "cancel", "Cancelled"


class Approval(models.Model):
    """One item in the inbox; a link to it works for ever."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="approvals")
    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, related_name="approvals")
    # intake takes each question in once, however often it is rung
    input_request = models.OneToOneField(
        InputRequest, null=True, on_delete=models.CASCADE, related_name="approval"
    )
    kind = models.CharField(max_length=8, choices=Kind.choices)
    shape = models.CharField(max_length=9, choices=Shape.choices)
    audience = models.CharField(max_length=12, choices=Audience.choices)
    people = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="+")
    state = models.CharField(
        max_length=12, choices=ApprovalState.choices, default=ApprovalState.OPEN
    )
    # goes up with every change a form must not survive; part of the signed binding
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    deadline_at = models.DateTimeField(null=True)
    decision = models.CharField(max_length=8, choices=Choice.choices, blank=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind=Kind.GATE) | Q(input_request__isnull=False),
                name="approval_answers_a_question",
            ),
            # a decision is whole: what, when and who, or nothing
            models.CheckConstraint(
                condition=Q(decision="", decided_at__isnull=True)
                | (~Q(decision="") & Q(decided_at__isnull=False, decided_by__isnull=False)),
                name="approval_decision_is_whole",
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


class Vote(models.Model):
    """What one person said, once per version of the question."""

    approval = models.ForeignKey(Approval, on_delete=models.CASCADE, related_name="votes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    version = models.PositiveIntegerField()
    choice = models.CharField(max_length=8, choices=Choice.choices)
    at = models.DateTimeField()

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
