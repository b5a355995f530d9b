"""The append-only log: the timeline of an operation and the audit trail are this one table."""

from typing import Any

import pgtrigger
from django.conf import settings
from django.db import models

from mcpdesk.accounts.models import Team
from mcpdesk.audit.kinds import KINDS


class Channel(models.TextChoices):
    """Where an event came from."""

    WEB = "web", "in the browser"
    WORKER = "worker", "by the desk"
    CLOCK = "clock", "by the clock"
    COMMAND = "command", "on the command line"


class Event(models.Model):
    """One line. Rows above this layer are named by id: the log outlives what it speaks of."""

    at = models.DateTimeField()
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=40)
    operation_id = models.UUIDField(null=True)
    approval_id = models.UUIDField(null=True)
    server_id = models.BigIntegerField(null=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    actor_name = models.CharField(max_length=120)
    channel = models.CharField(max_length=16, choices=Channel.choices)
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        indexes = [
            # audit.timeline(): one operation's events in order
            models.Index(fields=["operation_id", "id"], name="event_by_operation"),
            # the team's log, newest first
            models.Index(fields=["team", "-id"], name="event_by_team"),
        ]
        triggers = [
            pgtrigger.Protect(
                name="event_is_append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

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
        super().__init__({**data, **more})

    def __missing__(self, key: str) -> str:
        return "–"
