"""What every page of the shell shows: who, which team, where one can go, what waits."""

from dataclasses import dataclass
from typing import cast

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from approvals.selectors import badge_count
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.adapter import sends_mail
from mcpdesk.accounts.guard import MemberRequest
from mcpdesk.notify import alerts
from mcpdesk.notify.models import Alert
from mcpdesk.notify.selectors import open_alerts
from tasks_monitor.engine.heartbeat import silences
from tasks_monitor.holds import in_force


@dataclass(frozen=True, slots=True)
class Place:
    """One entry of the left rail."""

    label: str
    path: str
    here: bool


#: What stands in the rail, and what it takes to be shown it.
_PLACES = (
    ("Inbox", "/inbox/", Permission.SEE_OPERATIONS),
    ("Dashboard", "/", Permission.SEE_OPERATIONS),
    ("Operations", "/operations/", Permission.SEE_OPERATIONS),
    ("History", "/history/", Permission.READ_HISTORY),
    ("Servers", "/servers/", Permission.SEE_OPERATIONS),
    ("Policies", "/policies/", Permission.SEE_OPERATIONS),
    ("Audit", "/audit/", Permission.READ_HISTORY),
    ("Team", "/team/", Permission.SEE_OPERATIONS),
    ("Alerts", alerts.PAGE, alerts.SEES_TO_ALERTS),
)
#: The badge says how many alerts are open, up to this many.
_MOST_ALERTS = 99


def shell(request: HttpRequest) -> dict[str, object]:
    """Context for templates/base.html; costs nothing on pages that do not render it."""
    member: Member | None = getattr(request, "member", None)
    if member is None:
        return {"member": None, "sends_mail": sends_mail()}
    return {
        "member": member,
        "sends_mail": sends_mail(),
        "memberships": cast(MemberRequest, request).memberships,
        "places": _places(member, request.path),
        "inbox_count": SimpleLazyObject(lambda: badge_count(member)),
        "holds": SimpleLazyObject(lambda: in_force(member.team_id)),
        "may_end_holds": member.may(Permission.ADMINISTER),
        "team_alerts": SimpleLazyObject(lambda: _alerts(member)),
        "silences": SimpleLazyObject(lambda: silences(timezone.now())),
    }


def _is_here(place: str, path: str) -> bool:
    """Whether a page belongs to a place of the rail; all paths begin with that of the dashboard."""
    return path == place if place == "/" else path.startswith(place)


def _places(member: Member, here: str) -> list[Place]:
    allowed = [(label, path) for label, path, needed in _PLACES if member.may(needed)]
    return [Place(label, path, _is_here(path, here)) for label, path in allowed]


def _alerts(member: Member) -> list[Alert]:
    """What operators and admins have to look at; nothing for others."""
    if not member.may(alerts.SEES_TO_ALERTS):
        return []
    return list(open_alerts(member.team_id)[:_MOST_ALERTS])
