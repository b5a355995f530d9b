"""Which operations' payloads a team's retention deletes now, and what would go: the dry run."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Exists, Max, Min, OuterRef, Sum

from mcpdesk.accounts.models import Team
from mcpdesk.audit import legal
from mcpdesk.audit.pruning import prunable
from mcpdesk.keeping.parts import PARTS, Operations
from tasks_monitor.models import Operation, Repair, RepairState
from tasks_monitor.states import TERMINAL


@dataclass(frozen=True, slots=True)
class PayloadsGoing:
    """Operations that would lose what they carried, in counts per kind; when they ended (UTC).

    `held`: operations that are old enough, and stay because of a legal hold.
    """

    operations: int = 0
    held: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    oldest: datetime | None = None
    newest: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogGoing:
    """Events that would leave the log with their sealed batches; when they happened (UTC)."""

    events: int = 0
    seals: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Going:
    """What would go of a team."""

    payloads: PayloadsGoing
    log: LogGoing

    @property
    def anything(self) -> bool:
        return bool(self.payloads.operations or self.log.events)


def ended_before(team_id: int, before: datetime) -> Operations:
    """The team's operations that ended before that moment (UTC) and still have their payload.

    What has not ended has none: neither what runs, nor what is lost, unknown or stuck.
    """
    open_repairs = Repair.objects.filter(operation=OuterRef("pk"), state=RepairState.PROPOSED)
    return Operation.objects.filter(
        ~Exists(open_repairs),
        team_id=team_id,
        state__in=TERMINAL,
        finished_at__lt=before,
        payload_deleted_at__isnull=True,
    )


def deletable(team_id: int, before: datetime) -> Operations:
    """Of these, the ones that no legal hold keeps."""
    held = legal.held(team_id)
    ended = ended_before(team_id, before)
    return ended.none() if held.everything else ended.exclude(pk__in=held.operations)


def going(team: Team, payload_days: int | None, log_days: int | None, now: datetime) -> Going:
    """What a run with these settings would delete now (aware UTC); nothing is written."""
    payloads = PayloadsGoing() if payload_days is None else _payloads(team, payload_days, now)
    return Going(payloads, LogGoing() if log_days is None else _log(team, log_days, now))


def moment(days: int, now: datetime) -> datetime:
    """What happened before this moment is older than so many days."""
    return now - timedelta(days=days)


def _payloads(team: Team, days: int, now: datetime) -> PayloadsGoing:
    before = moment(days, now)
    mine = deletable(team.pk, before)
    span = mine.aggregate(count=Count("pk"), oldest=Min("finished_at"), newest=Max("finished_at"))
    ended = ended_before(team.pk, before).count() if legal.held(team.pk) else span["count"]
    counted = ((part.name, part.rows(mine).count()) for part in PARTS)
    return PayloadsGoing(
        operations=span["count"],
        held=ended - span["count"],
        kinds=tuple((name, count) for name, count in counted if count),
        oldest=span["oldest"],
        newest=span["newest"],
    )


def _log(team: Team, days: int, now: datetime) -> LogGoing:
    found = (
        prunable(team, moment(days, now))
        .order_by()
        .aggregate(
            events=Sum("event_count", default=0),
            seals=Count("number"),
            oldest=Min("earliest_at"),
            newest=Max("latest_at"),
        )
    )
    return LogGoing(**found)
