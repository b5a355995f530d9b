"""Alerts: what operators and admins of a team have to look at, one at a time for each matter.

An alert closes by itself when its matter ends, and by hand when somebody has seen to it.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from mcpdesk.accounts import access
from mcpdesk.accounts.access import MATRIX, Member, Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership
from mcpdesk.audit.log import DESK, Actor, record
from mcpdesk.notify import outbox
from mcpdesk.notify.models import Alert, Topic
from mcpdesk.notify.outbox import About, Notice
from mcpdesk.notify.plain import one_line

#: Whoever has this is alerted.
SEES_TO_ALERTS = Permission.OPERATE
#: The page that lists them; where a matter has no place of its own, it leads here.
PAGE = "/alerts/"


def raise_alert(team_id: int, matter: str, sentence: str, now: datetime, *, path: str = "") -> None:
    """Alert operators and admins, unless they are alerted of this matter already.

    Called in the transaction of what it is about. `matter` is a key, its kind before a colon
    ("clock", "nobody_left:<id>"); `sentence` is ours; `path` is the page to look at.
    """
    alert, created = Alert.objects.get_or_create(
        team_id=team_id,
        matter=matter,
        closed_at__isnull=True,
        defaults={"sentence": one_line(sentence, 300), "path": path, "opened_at": now},
    )
    if not created:
        return
    record("alert.raised", team_id=team_id, actor=DESK, now=now, about=_kind(matter))
    notice = Notice(
        topic=Topic.ALERT,
        event="alert.opened",
        subject=f"Look at this: {alert.sentence}",
        sentence=alert.sentence,
        path=path or PAGE,
    )
    outbox.tell(_about(alert), notice, to=watchers(team_id), now=now)


def is_known(team_id: int, matter: str, since: datetime) -> bool:
    """Whether a matter that began at `since` (UTC) is open, or somebody has seen to it.

    For who looks again and again at what lasts: a closed alert is not to come back at once.
    """
    known = Q(closed_at__isnull=True) | Q(closed_at__gte=since, closed_by__isnull=False)
    return Alert.objects.filter(known, team_id=team_id, matter=matter).exists()


def close_alert(team_id: int, matter: str, now: datetime, *, actor: Actor = DESK) -> Alert | None:
    """The matter is over, or somebody has seen to it; None where no alert of it is open."""
    alert = _open(team_id, matter)
    if alert is not None:
        _close(alert, now, actor)
    return alert


@transaction.atomic(durable=True)
def see_to(alert_id: int, *, member: Member, now: datetime) -> None:
    """Somebody has seen to it. One that is closed stays as it is.

    It comes again when its matter begins anew. Raises Alert.DoesNotExist, Refused.
    """
    current = access.member_in(member.user, member.team_id)
    if current is None or not current.may(SEES_TO_ALERTS):
        raise Refused("Only operators and admins see to alerts. Nothing was changed.")
    alert = Alert.objects.get(team_id=member.team_id, pk=alert_id)
    if alert.closed_at is None:
        close_alert(alert.team_id, alert.matter, now, actor=Actor.person(member))


def _open(team_id: int, matter: str) -> Alert | None:
    """The open alert of a matter, locked."""
    found = Alert.objects.filter(team_id=team_id, matter=matter, closed_at__isnull=True)
    return found.select_for_update(of=("self",)).first()


def _close(alert: Alert, now: datetime, actor: Actor) -> None:
    alert.closed_at, alert.closed_by = now, actor.user
    alert.save(update_fields=["closed_at", "closed_by"])
    kind = _kind(alert.matter)
    record("alert.closed", team_id=alert.team_id, actor=actor, now=now, about=kind)
    over = Notice(
        topic=Topic.ALERT,
        event="alert.closed",
        subject=f"Over: {alert.sentence}",
        sentence=f"This is over: {alert.sentence}",
        path=alert.path or PAGE,
    )
    outbox.drop(_about(alert), now=now)
    outbox.follow_up(_about(alert), over, now=now)


def watchers(team_id: int) -> list[int]:
    """The ids of everybody who is alerted now."""
    roles = [role for role, granted in MATRIX.items() if SEES_TO_ALERTS in granted]
    found = Membership.objects.filter(team_id=team_id, role__in=roles, user__is_active=True)
    return list(found.values_list("user_id", flat=True))


def _about(alert: Alert) -> About:
    """Of this one alert: the matter may come up again, and is told again then."""
    return About(alert.team_id, f"alert:{alert.pk}")


def _kind(matter: str) -> str:
    return matter.partition(":")[0][:80]
