"""The figures of the charts. Those of days that are over are counted once, and kept.

Charts of a month and of a quarter would else count all that ended in it each time somebody looks.
The clock has a worker keep what is over, for each team in the time zones of its people; what is not
kept yet is counted. Nothing is added to a day that is over, and what ended stays as it ended
(tasks_monitor.states). What is broken may be mended, and is counted each time; so is a day that is
narrowed to a server or a tool.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from approvals.pace import people_paces
from mcpdesk.accounts.access import Member, in_team, service_in
from mcpdesk.accounts.models import Membership
from mcpdesk.accounts.zones import zone_of
from tasks_monitor import charts
from tasks_monitor.charts import Narrow, Outcome, Outcomes, Pace, Paces
from tasks_monitor.engine.tally import SETTLED
from tasks_monitor.models import ChartDay
from tasks_monitor.spans import Range, Span, span

#: The ranges whose buckets are days; of the longest, days are kept.
_DAILY: Final = frozenset({Range.MONTH, Range.QUARTER})
_LONGEST: Final = Range.QUARTER
#: Days are deleted when no range has reached back to them for a while.
_KEPT_FOR: Final = timedelta(days=100)
_DAY: Final = ("begins", "ends", "figures")


@dataclass(frozen=True, slots=True)
class Figures:
    """What the three charts show of one span."""

    outcomes: Outcomes
    people: Paces
    server: Paces


def figures(member: Member, shown: Span, narrow: Narrow) -> Figures:
    """What ended and broke, how long people took and how long servers, in a span."""
    kept = _kept(member, shown) if shown.range in _DAILY and not narrow else {}
    found = _counted(member, shown, narrow, [n for n in range(shown.buckets) if n not in kept])
    for number, values in kept.items():
        _put(found, number, values)
    found.outcomes.add(charts.broken(member, shown, narrow))
    return found


def keep(now: datetime) -> None:
    """Keep the days that are over and are not kept yet. Several may do so at once."""
    people = Membership.objects.filter(user__is_active=True).select_related("team", "user")
    for team, zone in {(one.team, zone_of(one.user)) for one in people}:
        _keep(service_in(team, "the clock"), span(_LONGEST, now, zone), now)
    ChartDay.objects.filter(begins__lt=now - _KEPT_FOR).delete()


def _keep(member: Member, shown: Span, now: datetime) -> None:
    kept = _kept(member, shown)
    over = [
        n for n in range(shown.buckets) if shown.edges[n + 1] <= now - SETTLED and n not in kept
    ]
    if not over:
        return
    counted = _counted(member, shown, Narrow(), over)
    days = [
        ChartDay(
            team=member.team,
            begins=shown.edges[number],
            ends=shown.edges[number + 1],
            figures=dict(_taken(counted, number)),
        )
        for number in over
    ]
    ChartDay.objects.bulk_create(days, ignore_conflicts=True)


def _counted(member: Member, shown: Span, narrow: Narrow, only: Sequence[int]) -> Figures:
    outcomes, server = charts.ended(member, shown, narrow, only)
    return Figures(outcomes, people_paces(member, shown, narrow, only), server)


def _kept(member: Member, shown: Span) -> dict[int, Any]:
    """What is kept, by the number of its bucket."""
    rows = in_team(member, ChartDay.objects.filter(begins__gte=shown.begin, ends__lte=shown.end))
    days = {(begins, ends): values for begins, ends, values in rows.values_list(*_DAY)}
    return {n: days[day] for n, day in enumerate(pairwise(shown.edges)) if day in days}


def _taken(counted: Figures, number: int) -> Iterator[tuple[str, Any]]:
    """The figures of one bucket as JSON has them."""
    yield "ended", dict(counted.outcomes.counts.get(number, {}))
    for name in ("people", "server"):
        pace = getattr(counted, name).paces.get(number)
        yield name, pace and [pace.count, pace.median_ms, pace.ninetieth_ms]


def _put(counted: Figures, number: int, kept: dict[str, Any]) -> None:
    """Put the figures of one bucket where they were taken from."""
    if kept["ended"]:
        counts = Counter({Outcome(name): count for name, count in kept["ended"].items()})
        counted.outcomes.counts[number] = counts
    for name in ("people", "server"):
        if kept[name] is not None:
            getattr(counted, name).paces[number] = Pace(*kept[name])
