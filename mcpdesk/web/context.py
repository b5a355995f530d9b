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


_PLACES = (
    ("Inbox", "/inbox/"),
    ("Dashboard", "/"),
    ("Operations", "/operations/"),
    ("History", "/history/"),
    ("Servers", "/servers/"),
    ("Policies", "/policies/"),
    ("Team", "/team/"),
)
_WATCHERS_PLACES = (("Alerts", alerts.PAGE),)
#: The badge says how many alerts are open, up to this many.
_MOST_ALERTS = 99


#: Places that are shown only to those who may enter them.
_NEEDS = {"/history/": Permission.READ_HISTORY}


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


def _places(member: Member, path: str) -> list[Place]:
    return [
        Place(label, place, _is_here(place, path))
        for label, place in _PLACES
        if member.may(_NEEDS.get(place, Permission.SEE_OPERATIONS))
    ]


def _is_here(place: str, path: str) -> bool:
    """Whether a page belongs to a place of the rail; all paths begin with that of the dashboard."""
    return path == place if place == "/" else path.startswith(place)


def _places(member: Member, here: str) -> list[Place]:
    places = _PLACES + (_WATCHERS_PLACES if member.may(alerts.SEES_TO_ALERTS) else ())
    return [Place(label, path, _is_here(path, here)) for label, path in places]


def _alerts(member: Member) -> list[Alert]:
    """What operators and admins have to look at; nothing for others."""
    if not member.may(alerts.SEES_TO_ALERTS):
        return []
    return list(open_alerts(member.team_id)[:_MOST_ALERTS])
