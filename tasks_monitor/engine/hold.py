"""Hold: the kill switch. While one is on, nothing is sent to its server, or to any of its team.

No call, no answer and no cancellation leaves; polls (`tasks/get`) go on, since they change nothing.
Begin and end wait for whoever is writing down a request at this moment (`stops`), and the other way
round: a request recorded before the hold committed counts as sent, and none is recorded after.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import (
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    Max,
    QuerySet,
    Value,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest

from mcpdesk.accounts.access import Permission
from mcpdesk.audit.admins import require_now
from mcpdesk.audit.announce import announce
from mcpdesk.audit.log import Actor, record
from mcpdesk.mcp.jsontext import storable
from tasks_monitor import holds
from tasks_monitor.engine import doorbell
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Hold, Operation, Server
from tasks_monitor.signals import hold_ended
from tasks_monitor.states import POLLED, State

MAX_REASON_CHARS: Final = 500
#: The desk's own corner of PostgreSQL's advisory locks; the second key is the team.
_LOCKS: Final = 0x686F6C64
#: Less than this is no time at all for PostgreSQL.
_TICK: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Stretch:
    """How long nothing was sent to these servers, over all holds that overlapped (UTC)."""

    server_ids: tuple[int, ...]
    since: datetime
    until: datetime


@transaction.atomic
def begin(team_id: int, server_id: int | None, *, reason: str, actor: Actor, now: datetime) -> Hold:
    """Stop sending to a server, or to every server of the team (`server_id` None).

    Raises Refused, PermissionDenied, and Server.DoesNotExist for a server of another team.
    """
    if actor.user is None:
        raise ValueError("a person begins a hold")
    reason = _checked(reason)
    _wait_for_senders(team_id)
    require_now(actor, team_id, Permission.OPERATE)
    server = None if server_id is None else _server(team_id, server_id)
    _refuse_second(team_id, server)
    hold = Hold.objects.create(
        team_id=team_id,
        server=server,
        reason=reason,
        since=_after_the_last(team_id, now),
        begun_by=actor.user,
    )
    _note("hold.begun", hold, actor, now)
    return hold


@transaction.atomic
def end(hold_id: int, *, actor: Actor, now: datetime) -> Hold:
    """Let everything that waits go: calls, answers, cancellations. Our deadlines get back the time.

    Servers that another hold stops stay stopped; their time is given back when that one ends.
    Raises Refused, PermissionDenied, and Hold.DoesNotExist.
    """
    team_id = Hold.objects.values_list("team_id", flat=True).get(pk=hold_id)
    _wait_for_senders(team_id)
    require_now(actor, team_id, Permission.ADMINISTER)
    hold = Hold.objects.select_related("server", "ended_by").get(pk=hold_id)
    if hold.ended_at is not None:
        raise Refused(f"This is over already: {hold.ended_by or 'the desk'} ended it.")
    hold.ended_at = max(now, _last(hold.team_id, "since") or now)
    hold.ended_by = actor.user
    hold.save(update_fields=["ended_at", "ended_by"])
    stood_s = round((hold.ended_at - hold.since).total_seconds())
    _note("hold.ended", hold, actor, now, seconds=stood_s)
    for stretch in _freed(hold, hold.ended_at):
        _let_go(stretch, now)
        hold_ended.send(None, stretch=stretch)
    transaction.on_commit(lambda: doorbell.ring(), robust=True)
    return hold


def stops(server_id: int) -> bool:
    """Whether nothing may be sent to this server; stays true or false until the transaction ends.

    To be asked first of all in the transaction that records a request, before its operation is
    locked: begin() and end() hold the same lock while they touch operations.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock_shared(%s, team_id::int), team_id"
            " FROM tasks_monitor_server WHERE id = %s",
            [_LOCKS, server_id],
        )
        _, team_id = cursor.fetchone()
    return holds.holding(team_id, server_id).filter(holds.ON).exists()


def _wait_for_senders(team_id: int) -> None:
    """Until whoever records a request of this team has committed; who comes later waits for us."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s::int)", [_LOCKS, team_id])


def _checked(reason: str) -> str:
    reason = reason.strip()
    if not reason:
        raise Refused("Say why: everybody in the team reads it on every page.")
    if len(reason) > MAX_REASON_CHARS or not storable(reason):
        raise Refused(f"The reason has at most {MAX_REASON_CHARS} characters of text.")
    return reason


def _server(team_id: int, server_id: int) -> Server:
    servers = Server.objects.filter(team_id=team_id).defer("credential", "discovery")
    return servers.get(pk=server_id)


def _refuse_second(team_id: int, server: Server | None) -> None:
    same = Hold.objects.filter(holds.ON, team_id=team_id, server=server).select_related("begun_by")
    earlier = same.first()
    if earlier is not None:
        scope = server.name if server else "any server"
        raise Refused(f"Nothing is sent to {scope} already: {earlier.begun_by} stopped it.")


def _last(team_id: int, column: str) -> datetime | None:
    """The latest `since` or `ended_at` of a team's holds."""
    latest: datetime | None = Hold.objects.filter(team_id=team_id).aggregate(at=Max(column))["at"]
    return latest


def _after_the_last(team_id: int, now: datetime) -> datetime:
    """Now, and behind every hold that is over, whatever the clocks of two processes say.

    So holds touch only where one was on when the other ended: what was given back stays out.
    """
    last = _last(team_id, "ended_at")
    return now if last is None else max(now, last + _TICK)


def _freed(hold: Hold, until: datetime) -> list[Stretch]:
    """The servers that nothing stops any more, by the moment from which they were stopped."""
    found: dict[datetime, list[int]] = {}
    servers = Server.objects.filter(team_id=hold.team_id)
    mine = servers if hold.server_id is None else servers.filter(pk=hold.server_id)
    for server_id in mine.values_list("pk", flat=True):
        covering = holds.holding(hold.team_id, server_id)
        if not covering.filter(holds.ON).exists():
            found.setdefault(holds.begin_of(covering, hold.since), []).append(server_id)
    return [Stretch(tuple(ids), since, until) for since, ids in found.items()]


def _let_go(stretch: Stretch, now: datetime) -> None:
    """What waited for this hold is due at once, and the operations' own deadlines get the time."""
    mine = Operation.objects.filter(server_id__in=stretch.server_ids, finished_at__isnull=True)
    # prepare left them without a time, and nothing else does
    parked = mine.filter(state=State.READY, due_at__isnull=True)
    _each(parked).update(due_at=now)
    # being polled meanwhile; one that a worker settles right now goes on by itself
    unsent = mine.filter(state__in=POLLED, attention=True, due_at__gt=now)
    _each(unsent, skip_locked=True).update(due_at=now)
    timed = mine.filter(deadline_at__isnull=False, created_at__lt=stretch.until)
    _each(timed).update(deadline_at=F("deadline_at") + stood_still(stretch))


def _each(operations: QuerySet[Operation], *, skip_locked: bool = False) -> QuerySet[Operation]:
    """These operations, locked one after the other in the same order as anybody who locks many."""
    locked = operations.order_by("pk").select_for_update(no_key=True, skip_locked=skip_locked)
    return Operation.objects.filter(pk__in=list(locked.values_list("pk", flat=True)))


def stood_still(stretch: Stretch) -> Combinable:
    """How long of the stretch a row was there, as an expression over its `created_at`."""
    begin = Greatest(F("created_at"), Value(stretch.since, DateTimeField()))
    return ExpressionWrapper(
        Value(stretch.until, DateTimeField()) - begin, output_field=DurationField()
    )


def _note(kind: str, hold: Hold, actor: Actor, now: datetime, seconds: int | None = None) -> None:
    """One event; every page that shows a server concerned asks again how things stand."""
    scope = "any server" if hold.server is None else hold.server.name
    record(
        kind,
        team_id=hold.team_id,
        server_id=hold.server_id,
        actor=actor,
        now=now,
        scope=scope[:200],
        seconds=seconds,
    )
    if hold.server_id is None:
        for server_id in Server.objects.filter(team_id=hold.team_id).values_list("pk", flat=True):
            announce(hold.team_id, server_id=server_id)
