"""What the dashboard shows of a team's operations now: counts, who is waited for, servers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, Min, QuerySet
from django.urls import reverse

from approvals.models import Approval, ApprovalState, Audience
from mcpdesk.accounts.access import Member, in_team
from tasks_monitor import holds, wording
from tasks_monitor.models import HistoryEntry, Hold, Operation, Server, Tool
from tasks_monitor.states import NEEDS_OPERATOR, POLLED, TERMINAL, State

#: How many rows stand in the list of what waits longest.
WAITING_ROWS: Final = 6
#: More servers than this are on the page of servers; those in trouble come first.
SERVER_ROWS: Final = 8
#: Names suggested for the filter by tool.
TOOL_NAMES: Final = 300

#: What a line says of its operation.
_RELATED: Final = ("operation__server", "operation__started_by", "operation__token")
_NAMES: Final = (
    *("operation__server__name", "operation__token__name"),
    *("operation__started_by__name", "operation__started_by__email"),
)
_OPEN: Final = tuple(state for state in State if state not in TERMINAL)


@dataclass(frozen=True, slots=True)
class Tile:
    """How many operations are in a state, and the list of them."""

    state: State
    count: int

    @property
    def tone(self) -> str:
        return wording.TONES[self.state] if self.count else "grey"

    @property
    def url(self) -> str:
        return f"{reverse('operations')}?tab=all&state={self.state}"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that waits: since when (UTC), for whom, and where it is dealt with."""

    operation: Operation
    since: datetime
    what: str
    for_whom: str
    url: str


@dataclass(frozen=True, slots=True)
class ServerNow:
    """A server, how many operations on it have not ended, and when a task is checked next."""

    server: Server
    host: str
    open_count: int
    task_count: int
    next_check_at: datetime | None
    is_well: bool


def tiles(member: Member) -> list[Tile]:
    """Every state that is not an end, with the number of the team's operations in it."""
    rows = in_team(member, HistoryEntry.objects.filter(finished_at__isnull=True))
    found = dict(rows.values_list("state").annotate(number=Count("*")).order_by())
    return [Tile(state, found.get(state, 0)) for state in _OPEN]


def has_anything(member: Member) -> bool:
    """Whether the team has ever started anything."""
    # in an order, so that PostgreSQL looks at an end of the index and never through the table
    newest = in_team(member, HistoryEntry.objects.order_by("-created_at"))
    return bool(newest.values_list("pk")[:1])


def longest_waiting(member: Member) -> list[Waiting]:
    """What has waited longest, for people's decisions and for operators, the oldest first."""
    both = [*_open_items(member), *_broken(member)]
    return sorted(both, key=lambda one: one.since)[:WAITING_ROWS]


def _open_items(member: Member) -> Iterable[Waiting]:
    rows = in_team(member, Approval.objects.filter(state=ApprovalState.OPEN))
    related = rows.select_related(*_RELATED)
    shown = related.only(
        *("team", "kind", "audience", "created_at", "operation__team", "operation__tool_name"),
        *_NAMES,
    )
    for item in shown.prefetch_related("people").order_by("created_at", "pk")[:WAITING_ROWS]:
        url = reverse("inbox_item", args=[item.pk])
        what = item.get_kind_display()
        yield Waiting(item.operation, item.created_at, what, _for_whom(item), url)


def _for_whom(item: Approval) -> str:
    """The audience in words; people who are named stand beside it, or alone."""
    names = [str(person) for person in item.people.all()]
    if item.audience == Audience.REQUESTER:
        names.insert(0, str(item.operation.started_by or item.get_audience_display()))
    elif item.audience != Audience.PEOPLE:
        names.insert(0, item.get_audience_display())
    return ", ".join(dict.fromkeys(names)) or "nobody"


def _broken(member: Member) -> Iterable[Waiting]:
    rows = in_team(member, HistoryEntry.objects.filter(state__in=NEEDS_OPERATOR))
    related = rows.select_related(*_RELATED)
    shown = related.only(
        *("state", "state_since", "operation__team", "operation__tool_name"),
        *_NAMES,
    )
    for entry in shown.order_by("state_since")[:WAITING_ROWS]:
        url = reverse("operation", args=[entry.operation_id])
        what = entry.get_state_display()
        yield Waiting(entry.operation, entry.state_since, what, "an operator", url)


def servers_now(member: Member, in_force: Iterable[Hold], now: datetime) -> list[ServerNow]:
    """The team's servers, those in trouble first, at most one more than are shown."""
    stopped = list(in_force)
    servers = list(in_team(member, Server.objects.defer("credential", "discovery")))
    work = _work(servers)
    found = [
        _server_now(server, work.get(server.pk, (0, 0, None)), stopped, now) for server in servers
    ]
    return sorted(found, key=lambda one: (one.is_well, one.server.name))


def _work(servers: list[Server]) -> dict[int, tuple[int, int, datetime | None]]:
    """By server: operations that have not ended, tasks that are followed, the next check (UTC).

    Two queries, each of which an index answers: of what has broken, which may be thousands, no row
    is read.
    """
    open_ones = Operation.objects.filter(finished_at__isnull=True, server__in=servers)
    number = dict(open_ones.values_list("server").annotate(number=Count("*")).order_by())
    followed = open_ones.filter(state__in=POLLED).exclude(task_hash="")
    tasks = followed.values_list("server").annotate(tasks=Count("*"), next=Min("due_at"))
    checks = {server: (count, due) for server, count, due in tasks.order_by()}
    return {pk: (count, *checks.get(pk, (0, None))) for pk, count in number.items()}


def _server_now(
    server: Server, work: tuple[int, int, datetime | None], in_force: list[Hold], now: datetime
) -> ServerNow:
    waits = server.not_before is not None and server.not_before > now
    troubled = (
        server.paused
        or waits
        or server.unreachable_since is not None
        or bool(server.test_problem)
        or holds.over(in_force, server.pk) is not None
    )
    return ServerNow(server, wording.host(server), *work, is_well=not troubled)


def tool_names(member: Member, server_id: int | None) -> list[str]:
    """Names of tools that charts can be narrowed to: of one server, or of all of them."""
    servers = in_team(member, Server.objects.all())
    if server_id is not None:
        servers = servers.filter(pk=server_id)
    names: QuerySet[Tool, str] = Tool.objects.filter(server__in=servers).values_list(
        "name", flat=True
    )
    return list(names.order_by("name").distinct()[:TOOL_NAMES])
