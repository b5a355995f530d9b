"""When a call is expected to come to its end, by what calls of its tool usually take.

Only the server's time counts: while people are asked, or the call waits to be sent, the moment
moves on by as long as that takes.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from mcpdesk.audit.admins import locked_for
from mcpdesk.audit.log import Actor, record
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Expectation, HistoryEntry, Operation, Server
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State

#: What is usual is learned from this many of the last calls that ended well.
LAST: Final = 200
#: From fewer nothing is learned.
ENOUGH: Final = 20
#: Room to spare beyond the 95th percentile: half as long again, and at least this long.
ROOM: Final = 1.5
AT_LEAST: Final = timedelta(minutes=1)
MAX_LIMIT_S: Final = 30 * 24 * 3600

#: The server's time passes in these.
RUNNING: Final = frozenset({State.CALLING, State.WORKING})


def room_for(expectation: Expectation) -> timedelta | None:
    """How long a call may take before somebody is to look at it; None: nobody can say yet.

    A limit that an admin set goes before what was learned.
    """
    if expectation.limit_s is not None:
        return timedelta(seconds=expectation.limit_s)
    if expectation.usual_ms is None or expectation.samples < ENOUGH:
        return None
    usual = timedelta(milliseconds=expectation.usual_ms)
    return max(usual * ROOM, usual + AT_LEAST)


def columns(operation: Operation, before: State, after: State, now: datetime) -> dict[str, Any]:
    """What a change of state makes of `Operation.expected_by`, read before the change is written.

    Set when the call starts, and moved by as long as the server was not the one to be waited for.
    """
    if before in NEEDS_OPERATOR:
        return {"expected_by": None}
    if operation.expected_by is None:
        return _begin(operation, now) if after == State.CALLING else {}
    if before in RUNNING or after in TERMINAL | NEEDS_OPERATOR:
        return {}
    since = HistoryEntry.objects.values_list("state_since", flat=True).get(pk=operation.pk)
    return {"expected_by": operation.expected_by + max(now - since, timedelta(0))}


def _begin(operation: Operation, now: datetime) -> dict[str, Any]:
    found = Expectation.objects.filter(
        server_id=operation.server_id, tool_name=operation.tool_name
    ).first()
    room = room_for(found) if found else None
    return {"expected_by": now + room} if room else {}


_USUAL: Final = """
SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY server_ms), count(*)
FROM (
    SELECT server_ms FROM tasks_monitor_historyentry
    WHERE server_id = %s AND tool_name = %s AND state = 'completed' AND NOT is_error
    ORDER BY finished_at DESC
    LIMIT %s
) last
"""


def learn(server_id: int, tool_name: str, now: datetime) -> None:
    """Look at the last calls of a tool that ended well, and keep how long they usually take."""
    with connection.cursor() as cursor:
        cursor.execute(_USUAL, [server_id, tool_name, LAST])
        usual, samples = cursor.fetchone()
    learned = {"usual_ms": usual, "samples": samples, "learned_at": now}
    Expectation.objects.update_or_create(server_id=server_id, tool_name=tool_name, defaults=learned)


@transaction.atomic
def set_limit(
    server_id: int, tool_name: str, limit_s: int | None, *, actor: Actor, now: datetime
) -> None:
    """Set how long (s) calls of a tool may take, or None to go by what is usual again.

    It counts for calls that start from now on. Raises Refused and PermissionDenied.
    """
    if limit_s is not None and not 1 <= limit_s <= MAX_LIMIT_S:
        raise Refused("A limit is 1 second to 30 days.")
    server = Server.objects.only("team_id", "name").get(pk=server_id)
    locked_for(actor, server.team_id)
    if not server.tools.filter(name=tool_name).exists():
        raise Refused("The server lists no such tool.")
    found, _ = Expectation.objects.select_for_update().get_or_create(
        server=server, tool_name=tool_name
    )
    if found.limit_s == limit_s:
        return
    found.limit_s = limit_s
    found.save(update_fields=["limit_s"])
    record(
        "server.limit_set",
        team_id=server.team_id,
        server_id=server.pk,
        actor=actor,
        now=now,
        server=server.name,
        tool=tool_name[:200],
        limit="none" if limit_s is None else f"{limit_s} s",
    )
