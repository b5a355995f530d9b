"""The kill switch, and when each kind of process was last seen."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from mcpdesk.accounts.models import Team
from tasks_monitor.models.servers import Server


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
