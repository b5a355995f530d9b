"""What spares people work: usual reasons, approvals that are remembered, saved lists."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from approvals.models.choices import Verdict
from approvals.models.items import Approval
from mcpdesk.accounts.models import Team
from tasks_monitor.models import Server


class ReasonPreset(models.Model):
    """A reason that a team's people often give, to be picked instead of typed."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="reason_presets")
    verdict = models.CharField(max_length=8, choices=Verdict.choices)
    text = models.CharField(max_length=200)

    class Meta:
        ordering = ["verdict", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["team", "verdict", "text"], name="preset_once")
        ]

    def __str__(self) -> str:
        return self.text


class Remembered(models.Model):
    """A decision that counts for later calls too, until it ends or is taken back.

    It allows nothing by itself: only a rule whose ask part says so looks at it (recall.find).
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="remembered")
    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="+")
    tool_name = models.CharField(max_length=256)
    # SHA-256 of the arguments as canonical JSON; empty: with any arguments
    arguments_digest = models.CharField(max_length=64, blank=True)
    # only for calls that this person starts; null: anybody of the team
    starter = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    approval = models.ForeignKey(Approval, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    uses = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # recall.find: what may still be used for one tool
            models.Index(
                fields=["team", "server", "tool_name"],
                condition=Q(revoked_at__isnull=True),
                name="remembered_in_force",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} until {self.ends_at:%Y-%m-%d %H:%M}"


class ListPlace(models.TextChoices):
    """Where a saved list belongs."""

    INBOX = "inbox", "Inbox"
    OPERATIONS = "operations", "History of operations"
    APPROVALS = "approvals", "History of approvals"
    EVENTS = "events", "Audit"


class SavedFilter(models.Model):
    """A named list of one place: of one person, or of the whole team (`user` null)."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="saved_filters")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    place = models.CharField(max_length=10, choices=ListPlace.choices, default=ListPlace.INBOX)
    name = models.CharField(max_length=60)
    # the part of the address that says which list is shown, as its place makes it
    query = models.CharField(max_length=1024)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "user", "place", "name"],
                nulls_distinct=False,
                name="filter_name_once",
            )
        ]

    def __str__(self) -> str:
        return self.name
