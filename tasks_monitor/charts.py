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
    only: Sequence[int] | None = None,
    **figures: Aggregate,
) -> Iterator[tuple[Any, ...]]:
    """Of each bucket with rows of the one team: its number (from 0), then the figures.

    `only`: the numbers of the buckets that are asked for; None: all of the span.

    For each bucket PostgreSQL reads its part of the index (LATERAL). One query that is grouped by
    bucket takes twice as long: it works out the bucket of each row, and sorts all of them by it.
    """
    numbers = range(span.buckets) if only is None else only
    inside = rows.filter(**{f"{column}__gte": _edge("begins"), f"{column}__lt": _edge("ends")})
    grouped = inside.order_by().values_list("team").annotate(**figures)
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
    found = in_each_bucket(rows, column, span, only, **figures)
    return Paces(span, {bucket: Pace(count, *both) for bucket, count, both in found})


#: What ended with which outcome; a tool's own error is one apart.
_ENDED: Final = {
    Outcome.COMPLETED: Q(state=State.COMPLETED, is_error=False),
    Outcome.TOOL_ERROR: Q(state=State.COMPLETED, is_error=True),
    Outcome.FAILED: Q(state=State.FAILED),
    Outcome.DENIED: Q(state=State.DENIED),
    Outcome.EXPIRED: Q(state=State.EXPIRED),
    Outcome.CANCELLED: Q(state=State.CANCELLED),
}
_REACHED: Final = Q(server_ms__gt=0)


def ended(
    member: Member, span: Span, narrow: Narrow, only: Sequence[int] | None = None
) -> tuple[Outcomes, Paces]:
    """What ended, by outcome, and how long servers worked on it: read once for both.

    What never reached a server is left out of the latter. Of a bucket that is over, neither
    changes any more.
    """
    rows = _history(member, narrow).filter(finished_at__isnull=False)
    figures: dict[str, Aggregate] = {
        **{outcome: Count("state", filter=which) for outcome, which in _ENDED.items()},
        "reached": Count("state", filter=_REACHED),
        "both": Percentiles("server_ms", filter=_REACHED),
    }
    counts, took = Outcomes(span), Paces(span)
    for bucket, *numbers in in_each_bucket(rows, "finished_at", span, only, **figures):
        *of_each, reached, both = numbers
        found = zip(_ENDED, of_each, strict=True)
        counts.counts[bucket] = Counter({outcome: count for outcome, count in found if count})
        if reached:
            took.paces[bucket] = Pace(reached, *both)
    return counts, took


def broken(member: Member, span: Span, narrow: Narrow) -> Outcomes:
    """What is broken now and was not reconciled, by when it broke."""
    rows = _history(member, narrow).filter(state__in=NEEDS_OPERATOR)
    counted = in_each_bucket(rows, "state_since", span, number=Count("*"))
    return Outcomes(span, {bucket: Counter({Outcome.BROKEN: n}) for bucket, n in counted})


def _history(member: Member, narrow: Narrow) -> QuerySet[HistoryEntry]:
    return in_team(member, HistoryEntry.objects.filter(narrow.on()))
