"""Metrics, read from the database when they are asked for: any web process gives the same numbers.

Every query goes by an index and is bounded by what is not over yet, or by the servers; what ended
is counted in tallies (tasks_monitor.engine.tally). Names follow the conventions of Prometheus: base
units, `_total` for what only grows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Final

from django.utils import timezone
from prometheus_client import GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector, CollectorRegistry

from mcpdesk.ops import numbers
from tasks_monitor.engine.tally import BUCKETS_S

Families = Iterator[Metric]
_SERVER: Final = ["team", "server"]


class Desk(Collector):
    """Collects all that the database says, as of one moment."""

    def describe(self) -> Iterable[Metric]:
        """Nothing beforehand: registering it must not ask the database."""
        return []

    def collect(self) -> Families:
        now = timezone.now()
        for family in _FAMILIES:
            yield from family(now)


@lru_cache(maxsize=1)
def registry() -> CollectorRegistry:
    """What /metrics shows: the desk, and the web process that answers."""
    found = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=found)
    found.register(Desk())
    return found


def _operations(now: datetime) -> Families:
    unfinished = GaugeMetricFamily(
        "mcpdesk_operations", "Operations that are not over, by state.", labels=["team", "state"]
    )
    for team, state, count in numbers.backlog():
        unfinished.add_metric([team, state], count)
    yield unfinished
    count, lateness_s = numbers.due(now)
    yield GaugeMetricFamily(
        "mcpdesk_operations_due", "Operations that a worker could take now.", value=count
    )
    yield GaugeMetricFamily(
        "mcpdesk_operations_lateness_seconds",
        "How long the longest due of them has been due.",
        value=lateness_s,
    )


def _ended(now: datetime) -> Families:
    names = numbers.server_names()
    ended = [(names[one.server_id], one) for one in numbers.ended() if one.server_id in names]
    outcomes = CounterMetricFamily(
        "mcpdesk_operations_ended",
        "Operations that ended, by outcome; is_error: the tool itself reported an error.",
        labels=[*_SERVER, "state", "is_error"],
    )
    counts: dict[tuple[str, ...], int] = defaultdict(int)
    for server, one in ended:
        counts[*server, one.state, str(one.is_error).lower()] += one.count
    for labels, count in counts.items():
        outcomes.add_metric(labels, count)
    yield outcomes
    yield _histogram(
        "mcpdesk_operation_server_seconds",
        "How long servers had operations that ended.",
        [(server, one.count, one.server_ms, one.server_buckets) for server, one in ended],
    )
    yield _histogram(
        "mcpdesk_operation_people_seconds",
        "How long operations that ended waited for people.",
        [(server, one.count, one.people_ms, one.people_buckets) for server, one in ended],
    )


Part = tuple[tuple[str, str], int, int, tuple[int, ...]]


def _histogram(name: str, words: str, parts: list[Part]) -> Metric:
    """One histogram for each server, of parts: labels, count, sum (ms), counts up to each bound."""
    family = HistogramMetricFamily(name, words, labels=_SERVER)
    grouped: dict[tuple[str, str], list[Part]] = defaultdict(list)
    for part in parts:
        grouped[part[0]].append(part)
    for labels, found in grouped.items():
        counts = [sum(column) for column in zip(*(part[3] for part in found), strict=True)]
        bounds = [*map(float, BUCKETS_S), float("inf")]
        counts.append(sum(part[1] for part in found))
        buckets = [(_bound(at), count) for at, count in zip(bounds, counts, strict=True)]
        family.add_metric(labels, buckets, sum(part[2] for part in found) / 1000)
    return family


def _bound(seconds: float) -> str:
    return "+Inf" if seconds == float("inf") else str(seconds)


def _approvals(now: datetime) -> Families:
    waiting = GaugeMetricFamily(
        "mcpdesk_approvals_waiting",
        "Items that wait for people, by how long they do.",
        labels=["team", "kind", "age"],
    )
    oldest = GaugeMetricFamily(
        "mcpdesk_approvals_oldest_seconds",
        "How long the oldest of them has waited.",
        labels=["team", "kind"],
    )
    for (team, kind), ages in numbers.waiting(now).items():
        for age, count in ages.counts.items():
            waiting.add_metric([team, kind, age], count)
        oldest.add_metric([team, kind], ages.oldest_s)
    yield from (waiting, oldest)


def _deliveries(now: datetime) -> Families:
    under_way = GaugeMetricFamily(
        "mcpdesk_deliveries",
        "Answers on their way back to servers, by state.",
        labels=[*_SERVER, "state"],
    )
    for team, server, state, count in numbers.deliveries():
        under_way.add_metric([team, server, state], count)
    yield under_way


def _messages(now: datetime) -> Families:
    outbox = GaugeMetricFamily(
        "mcpdesk_messages", "Messages that have not arrived, by state.", labels=["state"]
    )
    for state, count in numbers.messages().items():
        outbox.add_metric([state], count)
    yield outbox
    yield GaugeMetricFamily(
        "mcpdesk_messages_lateness_seconds",
        "How long the longest due message has been due.",
        value=numbers.message_lateness_s(now),
    )


def _alerts(now: datetime) -> Families:
    alerts = GaugeMetricFamily("mcpdesk_alerts", "Open alerts.", labels=["team", "matter"])
    for (team, matter), count in numbers.alerts().items():
        alerts.add_metric([team, matter], count)
    yield alerts


def _servers(now: datetime) -> Families:
    reachable = GaugeMetricFamily(
        "mcpdesk_server_reachable", "1 unless connections to it fail.", labels=_SERVER
    )
    paused = GaugeMetricFamily("mcpdesk_server_paused", "1 where it is paused.", labels=_SERVER)
    held = GaugeMetricFamily(
        "mcpdesk_server_backoff_seconds", "How long nothing is sent to it yet.", labels=_SERVER
    )
    in_flight = GaugeMetricFamily(
        "mcpdesk_server_requests_in_flight", "Requests on their way to it.", labels=_SERVER
    )
    for server in numbers.servers(now):
        labels = [server.team, server.name]
        reachable.add_metric(labels, server.is_reachable)
        paused.add_metric(labels, server.is_paused)
        held.add_metric(labels, server.backoff_s)
        in_flight.add_metric(labels, server.in_flight)
    yield from (reachable, paused, held, in_flight)


def _processes(now: datetime) -> Families:
    seen = GaugeMetricFamily(
        "mcpdesk_last_seen_timestamp_seconds",
        "When each kind of work was last seen (Unix time); none: never.",
        labels=["process"],
    )
    for process, at in numbers.last_seen().items():
        seen.add_metric([process], at.timestamp())
    yield seen


_FAMILIES: Final[tuple[Callable[[datetime], Families], ...]] = (
    _operations,
    _ended,
    _approvals,
    _deliveries,
    _messages,
    _alerts,
    _servers,
    _processes,
)
