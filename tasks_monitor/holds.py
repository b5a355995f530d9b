"""What is on hold: read by pages, by the engine, and by the clock of the inbox.

A server is held by a hold of its own or by one of its whole team. Holds that overlap make one
stretch of time, which counts once.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Exists, Min, OuterRef, Prefetch, Q, QuerySet

from mcpdesk.accounts.models import User
from tasks_monitor.models import Hold, Server

ON = Q(ended_at__isnull=True)


def in_force(team_id: int) -> list[Hold]:
    """The holds of a team that are on, the whole team's first; one query where there is none."""
    found = Hold.objects.filter(ON, team_id=team_id).prefetch_related(
        Prefetch("server", Server.objects.only("name")),
        Prefetch("begun_by", User.objects.only("name", "email")),
    )
    return sorted(found, key=lambda hold: hold.server.name if hold.server else "")


def over(holds: Iterable[Hold], server_id: int) -> Hold | None:
    """Which of these holds stops the server; None: none does."""
    return next((h for h in holds if h.server_id is None or h.server_id == server_id), None)


def is_held() -> Exists:
    """The condition "is on hold" for rows that have a team and a server."""
    mine = Q(server__isnull=True) | Q(server_id=OuterRef("server_id"))
    return Exists(Hold.objects.filter(ON, mine, team_id=OuterRef("team_id")))


def since(team_id: int, server_id: int) -> datetime | None:
    """Since when nothing was sent to the server (UTC); None: nothing holds it."""
    covering = holding(team_id, server_id)
    first = covering.filter(ON).aggregate(Min("since"))["since__min"]
    return first and begin_of(covering, first)


def holding(team_id: int, server_id: int) -> QuerySet[Hold]:
    """Every hold there ever was over this server."""
    return Hold.objects.filter(Q(server__isnull=True) | Q(server_id=server_id), team_id=team_id)


def begin_of(covering: QuerySet[Hold], at: datetime) -> datetime:
    """When the stretch began that reaches to `at` (UTC) without a gap."""
    while True:
        earlier = covering.filter(since__lt=at, ended_at__gte=at).aggregate(Min("since"))
        if earlier["since__min"] is None:
            return at
        at = earlier["since__min"]
