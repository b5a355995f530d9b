"""What the engine learns of a server by talking to it: reachable, throttled, its clock."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Q

from mcpdesk.audit.log import DESK, record
from mcpdesk.http.client import FailureKind
from mcpdesk.mcp import pacing
from mcpdesk.mcp.replies import ReplyProblem, Unreadable
from mcpdesk.notify.alerts import close_alert
from tasks_monitor.engine.claim import ServerFacts
from tasks_monitor.engine.servers import locked
from tasks_monitor.engine.telling import out_of_reach
from tasks_monitor.models import Server
from tasks_monitor.transport import Exchange

#: No connection came about: the server, not this one operation, has the trouble.
_UNREACHABLE: Final = frozenset(
    {FailureKind.DNS, FailureKind.REFUSED, FailureKind.TLS, FailureKind.CONNECT_TIMEOUT}
)
BACKOFF_LAST_S = 60.0
AUTHORIZATION_PAUSE_S = 60.0
_HOLD_KINDS: Final = {"throttled": "server.throttled", "authorization": "server.unauthorized"}
OK_NOTED_EVERY = timedelta(seconds=5)
SKEW_STEP_MS = 5_000


def note_exchanges(server: ServerFacts, exchanges: list[Exchange], now: datetime) -> None:
    """Take in what a batch of exchanges with one server says of the server itself.

    On the usual path (it answers, and did before) nothing is read and nothing is written.
    """
    if any(e.reply is not None for e in exchanges):
        if server.troubled or server.last_ok_at is None or server.last_ok_at < now - OK_NOTED_EVERY:
            _reached(server.server_id, now)
    elif any(e.failure and e.failure.kind in _UNREACHABLE for e in exchanges):
        failed = next(e for e in exchanges if e.failure and e.failure.kind in _UNREACHABLE)
        _unreachable(server.server_id, failed, now)
    for exchange in exchanges:
        _note_reply(server.server_id, exchange, now)
    _note_clock(server, exchanges[-1])


def _note_reply(server_id: int, exchange: Exchange, now: datetime) -> None:
    if exchange.retry_after_s is not None:
        _hold(server_id, exchange.retry_after_s, "throttled", now)
    reply = exchange.reply
    if isinstance(reply, Unreadable):
        if reply.reason == ReplyProblem.AUTHORIZATION and reply.http_status == 401:
            _hold(server_id, AUTHORIZATION_PAUSE_S, "authorization", now)
        Server.objects.filter(pk=server_id).update(**_problem(reply.sentence, now))


def _problem(sentence: str, now: datetime) -> dict[str, Any]:
    return {"last_problem": sentence[:500], "last_problem_at": now}


@transaction.atomic
def _reached(server_id: int, now: datetime) -> None:
    server = locked(server_id)
    if server.unreachable_since is not None:
        server.last_problem, server.last_problem_at = "", None
        _clear_hold(server, "unreachable")
        _record(server, "server.reachable", now)
        close_alert(server.team_id, out_of_reach(server_id), now)
    server.unreachable_since, server.failures, server.last_ok_at = None, 0, now
    server.save(
        update_fields=[
            "unreachable_since",
            "failures",
            "last_ok_at",
            "last_problem",
            "last_problem_at",
            "not_before",
            "not_before_reason",
        ]
    )


def _clear_hold(server: Server, reason: str) -> None:
    if server.not_before_reason == reason:
        server.not_before, server.not_before_reason = None, ""


@transaction.atomic
def _unreachable(server_id: int, exchange: Exchange, now: datetime) -> None:
    """Back off for the whole server: one probe after each pause instead of one per operation."""
    assert exchange.failure is not None
    server = locked(server_id)
    if server.not_before is not None and server.not_before > now:
        return
    server.failures = min(server.failures + 1, 30)
    pause = min(2.0 ** (server.failures - 1), BACKOFF_LAST_S)
    server.not_before = now + timedelta(seconds=pause)
    server.not_before_reason = "unreachable"
    server.last_problem, server.last_problem_at = exchange.failure.sentence[:500], now
    if server.unreachable_since is None:
        server.unreachable_since = now
        _record(server, "server.unreachable", now, reason=exchange.failure.kind.value)
    server.save()


@transaction.atomic
def _hold(server_id: int, seconds: float, reason: str, now: datetime) -> None:
    """Nothing is sent to the server before then, and its pages say so."""
    until = now + timedelta(seconds=seconds)
    longer = Q(not_before__isnull=True) | Q(not_before__lt=until)
    held = Server.objects.filter(longer, pk=server_id)
    if held.update(not_before=until, not_before_reason=reason):
        server = Server.objects.defer("credential").get(pk=server_id)
        _record(server, _HOLD_KINDS[reason], now, seconds=round(seconds))


def _note_clock(server: ServerFacts, exchange: Exchange) -> None:
    """Keep a skew that is worth showing; an HTTP date has whole seconds only."""
    if exchange.server_date is None:
        return
    skew = pacing.clock_skew_ms(exchange.server_date, exchange.received_at)
    shown = skew if abs(skew) > pacing.SKEW_SHOWN_MS else 0
    if abs(shown - server.clock_skew_ms) > SKEW_STEP_MS:
        Server.objects.filter(pk=server.server_id).update(clock_skew_ms=shown)


def _record(server: Server, kind: str, now: datetime, **data: Any) -> None:
    record(
        kind,
        team_id=server.team_id,
        server_id=server.pk,
        actor=DESK,
        now=now,
        server=server.name,
        **data,
    )
