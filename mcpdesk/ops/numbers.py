"""The numbers behind the metrics: each function is one query or a few, each by an index."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.db.models import Count, Min, Q, Subquery

from approvals.models import Approval, ApprovalState
from mcpdesk.accounts.models import Team
from mcpdesk.notify.models import TO_SEND, Alert, Message, MessageState
from tasks_monitor.engine import tally
from tasks_monitor.engine.heartbeat import beats
from tasks_monitor.engine.tally import Ended
from tasks_monitor.models import (
    Delivery,
    DeliveryState,
    HistoryEntry,
    Operation,
    Server,
    Tally,
    TallyMark,
)

#: Classes of age of what waits for people: below so many seconds.
AGES_S: Final = {"under_5m": 300.0, "5m_to_1h": 3_600.0, "1h_to_1d": 86_400.0}
OLDER: Final = "over_1d"
_UNDER_WAY: Final = (
    DeliveryState.SAVED,
    DeliveryState.SENT,
    DeliveryState.ACKNOWLEDGED,
    DeliveryState.IGNORED,
)


@dataclass(slots=True)
class Ages:
    """How many wait, by class of age, and how long (s) the oldest of them."""

    counts: Counter[str] = field(
        default_factory=lambda: Counter(dict.fromkeys([*AGES_S, OLDER], 0))
    )
    oldest_s: float = 0.0

    def take(self, age_s: float) -> None:
        """Count one more."""
        self.counts[next((name for name, end in AGES_S.items() if age_s < end), OLDER)] += 1
        self.oldest_s = max(self.oldest_s, age_s)


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """One server as the engine meets it."""

    team: str
    name: str
    is_reachable: bool
    is_paused: bool
    backoff_s: float
    in_flight: int


def backlog() -> list[tuple[str, str, int]]:
    """(team, state, how many) of the operations that are not over."""
    unfinished = HistoryEntry.objects.filter(finished_at__isnull=True)
    rows = unfinished.values_list("team_id", "state").annotate(count=Count("pk"))
    teams = _teams()
    return [(teams[team_id], state, count) for team_id, state, count in rows.order_by()]


def due(now: datetime) -> tuple[int, float]:
    """How many operations a worker could take at `now`, and how long (s) the first has been due."""
    free = Q(server__not_before__isnull=True) | Q(server__not_before__lte=now)
    idle = Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    waiting = Operation.objects.filter(free, idle, due_at__lte=now, server__paused=False)
    found = waiting.aggregate(count=Count("pk"), oldest=Min("due_at"))
    return found["count"], _since(found["oldest"], now)


def ended() -> list[Ended]:
    """Everything that ever ended: the tallies, and what ended since they were last counted.

    The mark is read together with the tallies, so that a count in between takes nothing away.
    """
    mark = Subquery(TallyMark.objects.values("up_to")[:1])
    tallies = list(Tally.objects.annotate(up_to=mark))
    # without tallies nothing that ended has been counted
    since = tallies[0].up_to if tallies else tally.BEGINNING
    return [*map(_as_ended, tallies), *tally.since(since)]


def _as_ended(counted: Tally) -> Ended:
    return Ended(
        counted.server_id,
        counted.state,
        counted.is_error,
        counted.count,
        counted.server_ms,
        tuple(counted.server_buckets),
        counted.people_ms,
        tuple(counted.people_buckets),
    )


def server_names() -> dict[int, tuple[str, str]]:
    """(team, name) of each server by its id."""
    rows = Server.objects.values_list("pk", "team__slug", "name")
    return {pk: (team, name) for pk, team, name in rows}


def waiting(now: datetime) -> dict[tuple[str, str], Ages]:
    """What waits for people at `now`, by (team, kind)."""
    rows = Approval.objects.filter(state=ApprovalState.OPEN)
    teams, found = _teams(), dict[tuple[str, str], Ages]()
    for team_id, kind, created_at in rows.values_list("team_id", "kind", "created_at").iterator():
        ages = found.setdefault((teams[team_id], kind), Ages())
        ages.take(_since(created_at, now))
    return found


def deliveries() -> list[tuple[str, str, str, int]]:
    """(team, server, state, how many) of the answers on their way back, for each server and state:
    what begins with its first answer would not be seen to grow.
    """
    # an operation that expired, say, leaves an answer that nobody will ever take
    lasts = {"input_request__operation__finished_at__isnull": True}
    under_way = Delivery.objects.filter(state__in=_UNDER_WAY, **lasts)
    rows = under_way.values_list("input_request__operation__server", "state")
    counts = {(pk, state): n for pk, state, n in rows.annotate(count=Count("pk")).order_by()}
    return [
        (team, name, state.value, counts.get((pk, state), 0))
        for pk, (team, name) in server_names().items()
        for state in _UNDER_WAY
    ]


def messages() -> dict[str, int]:
    """How many messages have not arrived, by state."""
    states = (*TO_SEND, MessageState.SENDING, MessageState.DEAD)
    rows = Message.objects.filter(state__in=states[:-1]).values_list("state")
    counts = dict(rows.annotate(count=Count("pk")).order_by())
    counts[MessageState.DEAD] = Message.objects.filter(state=MessageState.DEAD).count()
    return {state.value: counts.get(state, 0) for state in states}


def message_lateness_s(now: datetime) -> float:
    """How long (s) the first message that is due has been due."""
    due_ones = Message.objects.filter(state__in=TO_SEND, next_at__lte=now, unwanted=False)
    return _since(due_ones.aggregate(oldest=Min("next_at"))["oldest"], now)


def alerts() -> dict[tuple[str, str], int]:
    """How many alerts are open, by (team, kind of matter)."""
    rows = Alert.objects.filter(closed_at__isnull=True).values_list("team__slug", "matter")
    return dict(Counter((team, matter.partition(":")[0]) for team, matter in rows))


def servers(now: datetime) -> list[ServerHealth]:
    """Every server with its health at `now`."""
    leased = Operation.objects.filter(leased_until__gt=now).values_list("server_id")
    lanes = leased.annotate(lanes=Count("lease_token", distinct=True))
    in_flight = dict(lanes.order_by())
    rows = Server.objects.values_list(
        "pk", "team__slug", "name", "unreachable_since", "paused", "not_before"
    )
    return [
        ServerHealth(
            team,
            name,
            is_reachable=away_since is None,
            is_paused=paused,
            backoff_s=_since(now, not_before) if not_before else 0.0,
            in_flight=in_flight.get(pk, 0),
        )
        for pk, team, name, away_since, paused, not_before in rows
    ]


def last_seen() -> dict[str, datetime]:
    """When each kind of work was last seen (UTC); what never was is left out."""
    return {process: at for process, at in beats().items() if at is not None}


def _teams() -> dict[int, str]:
    return dict(Team.objects.values_list("pk", "slug"))


def _since(at: datetime | None, now: datetime) -> float:
    return max(0.0, (now - at).total_seconds()) if at else 0.0
