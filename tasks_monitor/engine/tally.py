"""Tallies: counts what ended once, so that metrics never read the history from its beginning.

The clock counts what has ended long enough ago to be committed; what is newer, metrics count
themselves (`since`). The two together miss nothing and count nothing twice.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from tasks_monitor.engine.expect import learn
from tasks_monitor.models import TallyMark

#: How often the clock counts (s).
EVERY_S: Final = 60.0
#: A change may be committed this long after the moment it bears (drain.PAUSES_S): then it counts.
SETTLED: Final = timedelta(minutes=5)
#: Upper bounds (s) of the classes that durations are counted in; the last class has none.
BUCKETS_S: Final = (1, 5, 15, 60, 300, 1_800, 7_200, 86_400)
#: Before everything that ended.
BEGINNING: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Ended:
    """How many operations of a server ended in one way, and how long they took.

    Sums in ms; the counts of each class of BUCKETS_S include those of the classes before it.
    """

    server_id: int
    state: str
    is_error: bool
    count: int
    server_ms: int
    server_buckets: tuple[int, ...]
    people_ms: int
    people_buckets: tuple[int, ...]


def _classes(column: str) -> str:
    """A sum for each bound: as one array, so that tallies are added up element by element."""
    within = (f"count(*) FILTER (WHERE {column} <= {bound * 1000})" for bound in BUCKETS_S)
    return f"ARRAY[{', '.join(within)}]"


# By way of the teams: the index of what ended begins with them.
_ENDED: Final = f"""
SELECT h.server_id, h.state, h.is_error, count(*),
    sum(h.server_ms)::bigint, {_classes("h.server_ms")},
    sum(h.people_ms)::bigint, {_classes("h.people_ms")}
FROM accounts_team t
CROSS JOIN LATERAL (
    SELECT * FROM tasks_monitor_historyentry h
    WHERE h.team_id = t.id AND h.finished_at > %(since)s AND h.finished_at <= %(until)s
) h
GROUP BY h.server_id, h.state, h.is_error
"""  # noqa: S608 - the bounds are numbers of ours

_ADDED: Final = (
    "(SELECT array_agg(a + b ORDER BY n) FROM unnest({}, {}) WITH ORDINALITY x(a, b, n))"
)
_ADD: Final = f"""
INSERT INTO tasks_monitor_tally AS t
    (server_id, state, is_error, count, server_ms, server_buckets, people_ms, people_buckets)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (server_id, state, is_error) DO UPDATE SET
    count = t.count + excluded.count,
    server_ms = t.server_ms + excluded.server_ms,
    server_buckets = {_ADDED.format("t.server_buckets", "excluded.server_buckets")},
    people_ms = t.people_ms + excluded.people_ms,
    people_buckets = {_ADDED.format("t.people_buckets", "excluded.people_buckets")}
"""  # noqa: S608 - the columns are ours

_TOOLS: Final = """
SELECT DISTINCT h.server_id, h.tool_name
FROM accounts_team t
CROSS JOIN LATERAL (
    SELECT * FROM tasks_monitor_historyentry h
    WHERE h.team_id = t.id AND h.finished_at > %(since)s AND h.finished_at <= %(until)s
      AND h.state = 'completed' AND NOT h.is_error
) h
"""


def count(now: datetime) -> None:
    """Count what ended since the last count, and learn how long its tools usually take.

    Several clocks count one after the other, and nothing twice.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        TallyMark.objects.get_or_create(defaults={"up_to": BEGINNING})
        mark = TallyMark.objects.select_for_update().get()
        until = now - SETTLED
        if until <= mark.up_to:
            return
        span = {"since": mark.up_to, "until": until}
        for ended in _between(span):
            cursor.execute(_ADD, [*_values(ended)])
        cursor.execute(_TOOLS, span)
        tools = cursor.fetchall()
        TallyMark.objects.update(up_to=until)
    for server_id, tool_name in tools:
        learn(server_id, tool_name, now)


def since(up_to: datetime) -> list[Ended]:
    """What ended after `up_to` (UTC), where the tallies end."""
    return _between({"since": up_to, "until": datetime.max.replace(tzinfo=UTC)})


def _between(span: dict[str, datetime]) -> list[Ended]:
    with connection.cursor() as cursor:
        cursor.execute(_ENDED, span)
        return [_ended(row) for row in cursor.fetchall()]


def _ended(row: tuple[Any, ...]) -> Ended:
    *ending, server_ms, server_buckets, people_ms, people_buckets = row
    server_id, state, is_error, count = ending
    return Ended(
        server_id,
        state,
        is_error,
        count,
        server_ms,
        tuple(server_buckets),
        people_ms,
        tuple(people_buckets),
    )


def _values(ended: Ended) -> tuple[Any, ...]:
    return (
        ended.server_id,
        ended.state,
        ended.is_error,
        ended.count,
        ended.server_ms,
        list(ended.server_buckets),
        ended.people_ms,
        list(ended.people_buckets),
    )
