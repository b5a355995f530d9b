"""What charts show of a team's operations, counted and measured by PostgreSQL in its history.

Percentiles are exact (percentile_cont). Each query reads one covering index over the range that is
shown and nothing else, so it costs what ended in that range, whatever is older.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum, auto
from typing import Any, Final

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Aggregate, Count, DateTimeField, FloatField, Func, Q, QuerySet

from mcpdesk.accounts.access import Member, in_team
from tasks_monitor.models import HistoryEntry
from tasks_monitor.spans import Span
from tasks_monitor.states import NEEDS_OPERATOR, State


class Outcome(StrEnum):
    """What came of an operation, in the order in which a chart stacks them."""

    COMPLETED = auto()
    TOOL_ERROR = auto()
    FAILED = auto()
    DENIED = auto()
    EXPIRED = auto()
    CANCELLED = auto()
    BROKEN = auto()

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS: Final = {
    Outcome.COMPLETED: "Completed",
    Outcome.TOOL_ERROR: "Tool reported an error",
    Outcome.FAILED: "Failed",
    Outcome.DENIED: "Denied",
    Outcome.EXPIRED: "Expired",
    Outcome.CANCELLED: "Cancelled",
    Outcome.BROKEN: "Lost, unknown or stuck",
}


@dataclass(frozen=True, slots=True)
class Narrow:
    """What charts are narrowed to: a server, a tool by its exact name; None and "": any."""

    server_id: int | None = None
    tool: str = ""

    def __bool__(self) -> bool:
        return self.server_id is not None or bool(self.tool)

    def on(self, server: str = "server", tool: str = "tool_name") -> Q:
        """The condition on rows that have these columns."""
        found = Q() if self.server_id is None else Q(**{server: self.server_id})
        return found & Q(**{tool: self.tool}) if self.tool else found


@dataclass(frozen=True, slots=True)
class Pace:
    """How long something took in one bucket: of how many, half of them, nine of ten (ms)."""

    count: int
    median_ms: float
    ninetieth_ms: float


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How many came to what, for each bucket of the span that has any."""

    span: Span
    counts: dict[int, Counter[Outcome]] = field(default_factory=dict)

    @property
    def totals(self) -> Counter[Outcome]:
        return sum(self.counts.values(), Counter())

    def add(self, more: "Outcomes") -> None:
        """Count these too, of the same span."""
        for bucket, counts in more.counts.items():
            self.counts.setdefault(bucket, Counter()).update(counts)


@dataclass(frozen=True, slots=True)
class Paces:
    """How long something took, for each bucket of the span in which it happened."""

    span: Span
    paces: dict[int, Pace] = field(default_factory=dict)


class Percentiles(Aggregate):
    """The median and the 90th percentile, interpolated, in one pass over the sorted values."""

    function = "percentile_cont"
    template = "%(function)s(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(FloatField())


def in_each_bucket(
    rows: QuerySet[Any],
    column: str,
    span: Span,
    *by: str,
    only: Sequence[int] | None = None,
    **figures: Aggregate,
) -> Iterator[tuple[Any, ...]]:
    """Of each bucket with rows of the one team: its number (from 0), then `by`, then the figures.

    `only`: the numbers of the buckets that are asked for; None: all of the span.

    For each bucket PostgreSQL reads its part of the index (LATERAL). One query that is grouped by
    bucket takes twice as long: it works out the bucket of each row, and sorts all of them by it.
    """
    numbers = range(span.buckets) if only is None else only
    inside = rows.filter(**{f"{column}__gte": _edge("begins"), f"{column}__lt": _edge("ends")})
    grouped = inside.order_by().values_list("team", *by).annotate(**figures)
    try:
        part, values = grouped.query.sql_with_params()
    except EmptyResultSet:
        return
    begins = _array(span.edges[number] for number in numbers)
    ends = _array(span.edges[number + 1] for number in numbers)
    with connection.cursor() as cursor:
        cursor.execute(_IN_EACH.format(part), [begins, ends, *values])
        for place, _, *shown in cursor.fetchall():
            yield numbers[place - 1], *shown


_IN_EACH: Final = """
    SELECT bucket.number, found.*
    FROM unnest(%s::timestamptz[], %s::timestamptz[])
        WITH ORDINALITY AS bucket (begins, ends, number)
    CROSS JOIN LATERAL ({}) AS found
"""


def _array(moments: Iterable[datetime]) -> str:
    """As PostgreSQL writes an array: psycopg would look at each one's type for itself."""
    return f"{{{','.join(at.isoformat() for at in moments)}}}"


def _edge(name: str) -> Func:
    """An edge of the bucket that _IN_EACH is at."""
    return Func(template=f"bucket.{name}", output_field=DateTimeField())


def paces(
    rows: QuerySet[Any], column: str, span: Span, took: str, only: Sequence[int] | None = None
) -> Paces:
    """How long rows took whose moment is `column`, by the column `took` (ms)."""
    figures = {"number": Count("*"), "both": Percentiles(took)}
    found = in_each_bucket(rows, column, span, only=only, **figures)
    return Paces(span, {bucket: Pace(count, *both) for bucket, count, both in found})


def outcomes(member: Member, span: Span, narrow: Narrow) -> Outcomes:
    """What ended, by outcome; what broke and was not reconciled counts when it broke."""
    found = ended(member, span, narrow)
    found.add(broken(member, span, narrow))
    return found


def ended(
    member: Member, span: Span, narrow: Narrow, only: Sequence[int] | None = None
) -> Outcomes:
    """What ended, by outcome: of a bucket that is over, this never changes."""
    rows = _history(member, narrow).filter(finished_at__isnull=False)
    found = Outcomes(span)
    by = ("state", "is_error")
    counted = in_each_bucket(rows, "finished_at", span, *by, only=only, number=Count("*"))
    for bucket, state, is_error, count in counted:
        found.counts.setdefault(bucket, Counter())[outcome_of(state, is_error)] += count
    return found


def broken(member: Member, span: Span, narrow: Narrow) -> Outcomes:
    """What is broken now, by when it broke."""
    rows = _history(member, narrow).filter(state__in=NEEDS_OPERATOR)
    counted = in_each_bucket(rows, "state_since", span, number=Count("*"))
    return Outcomes(span, {bucket: Counter({Outcome.BROKEN: n}) for bucket, n in counted})


def outcome_of(state: str, is_error: bool) -> Outcome:
    """The outcome of an operation that ended; a tool's own error is one apart."""
    if state == State.COMPLETED and is_error:
        return Outcome.TOOL_ERROR
    return Outcome(state)


def server_paces(
    member: Member, span: Span, narrow: Narrow, only: Sequence[int] | None = None
) -> Paces:
    """How long servers worked on what ended; what never reached one is left out."""
    reached = _history(member, narrow).filter(finished_at__isnull=False, server_ms__gt=0)
    return paces(reached, "finished_at", span, "server_ms", only)


def _history(member: Member, narrow: Narrow) -> QuerySet[HistoryEntry]:
    return in_team(member, HistoryEntry.objects.filter(narrow.on()))
