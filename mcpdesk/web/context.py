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
    ("Servers", "/servers/"),
    ("Policies", "/policies/"),
    ("Team", "/team/"),
)


def shell(request: HttpRequest) -> dict[str, object]:
    """Context for templates/base.html; costs nothing on pages that do not render it."""
    member: Member | None = getattr(request, "member", None)
    if member is None:
        return {"member": None, "sends_mail": sends_mail()}
    return {
        "member": member,
        "sends_mail": sends_mail(),
        "memberships": cast(MemberRequest, request).memberships,
        "places": [Place(label, path, _is_here(path, request.path)) for label, path in _PLACES],
        "inbox_count": SimpleLazyObject(lambda: badge_count(member)),
        "holds": SimpleLazyObject(lambda: in_force(member.team_id)),
        "may_end_holds": member.may(Permission.ADMINISTER),
        "team_alerts": SimpleLazyObject(lambda: _alerts(member)),
        "silences": SimpleLazyObject(lambda: silences(timezone.now())),
    }


def _is_here(place: str, path: str) -> bool:
    """Whether a page belongs to a place of the rail; all paths begin with that of the dashboard."""
    return path == place if place == "/" else path.startswith(place)


def _alerts(member: Member) -> list[Alert]:
    """What the team's admins have to look at; nothing for others."""
    return list(open_alerts(member.team_id)) if member.may(Permission.ADMINISTER) else []
