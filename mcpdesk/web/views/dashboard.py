"""The dashboard: the team's operations now, and charts of what was."""

from datetime import UTC, datetime
from typing import Any, Final

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.web import dashboard, drawing
from mcpdesk.web.days import figures
from tasks_monitor import selectors
from tasks_monitor.charts import Narrow, Outcome
from tasks_monitor.holds import in_force
from tasks_monitor.spans import Range, span

_PAGE: Final = "web/dashboard.html"
#: How often (s) an open page asks for its charts again at most: the longer the range, the less a
#: minute changes, and the more it costs.
_APART_S: Final = {Range.DAY: 5, Range.WEEK: 10, Range.MONTH: 30, Range.QUARTER: 60}
_MOST_TOOL_CHARS: Final = 256


@require_safe
@member_required()
def show(request: MemberRequest) -> HttpResponse:
    """The whole page. Its live regions ask here for themselves, by the id of their element."""
    now = datetime.now(UTC)
    if not request.htmx:
        context = {**_now(request.member, now), **_charts(request, now), **_choices(request)}
        return render(request, _PAGE, context)
    if request.htmx.target == "dashboard-charts":
        return render(request, f"{_PAGE}#charts", _charts(request, now))
    return render(request, f"{_PAGE}#now", _now(request.member, now))


def _now(member: Member, now: datetime) -> dict[str, Any]:
    """How things stand: counts by state, what waits longest, the servers."""
    holds = in_force(member.team_id)
    servers = dashboard.servers_now(member, holds, now)
    return {
        "now": now,
        "holds": holds,  # the shell shows them too, and need not ask again
        "tiles": dashboard.tiles(member),
        "waiting": dashboard.longest_waiting(member),
        "servers": servers[: dashboard.SERVER_ROWS],
        "more_servers": max(0, len(servers) - dashboard.SERVER_ROWS),
        "has_anything": dashboard.has_anything(member),
        "may_operate": member.may(Permission.OPERATE),
        "may_change": member.may(Permission.ADMINISTER),
    }


def _charts(request: MemberRequest, now: datetime) -> dict[str, Any]:
    """The three charts of the chosen range, in the reader's zone."""
    narrow = _narrow(request.GET)
    zone = timezone.get_current_timezone()
    shown = span(Range.read(request.GET.get("range", "")), now, zone)
    found = figures(request.member, shown, narrow)
    return {
        "range": shown.range,
        "begin": shown.begin,
        "apart_s": _APART_S[shown.range],
        "narrow": narrow,
        "outcomes": drawing.bars(found.outcomes, zone),
        "people": drawing.dots(found.people, zone),
        "server": drawing.dots(found.server, zone),
        "kinds": list(Outcome),
        "refresh_url": request.get_full_path(),
    }


def _choices(request: MemberRequest) -> dict[str, Any]:
    """What the charts can be narrowed to."""
    narrow = _narrow(request.GET)
    return {
        "ranges": list(Range),
        "server_choices": selectors.shown_servers(request.member).only("name").order_by("name"),
        "tool_names": dashboard.tool_names(request.member, narrow.server_id),
    }


def _narrow(query: QueryDict) -> Narrow:
    """What the address narrows the charts to; what means nothing narrows nothing."""
    server = query.get("server", "")
    known = server.isascii() and server.isdecimal() and len(server) < 10  # an id, not a number
    tool = query.get("tool", "").strip()[:_MOST_TOOL_CHARS]
    return Narrow(int(server) if known else None, tool)
