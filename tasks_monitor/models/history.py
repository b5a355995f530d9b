"""What lists, charts and metrics read of operations, kept apart from the row that polls write."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from mcpdesk.accounts.models import Team
from tasks_monitor.models.operations import Operation
from tasks_monitor.models.servers import Server
from tasks_monitor.states import State

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
            # the server orders nothing: of another server's tool of that name no line is read
            models.Index(
                fields=["team", "tool_name", "created_at", "operation", "server"],
                name="history_by_tool",
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


class ChartDay(models.Model):
    """What the charts of a team show of a day that is over: counted once, then read from here.

    Medians of hours do not make that of a day, so that each time zone has days of its own.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    begins = models.DateTimeField()
    ends = models.DateTimeField()
    # as mcpdesk.web.days writes it
    figures = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "begins", "ends"], name="one_chart_day"),
        ]

    def __str__(self) -> str:
        return f"charts from {self.begins:%Y-%m-%d %H:%M} to {self.ends:%Y-%m-%d %H:%M}"


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
