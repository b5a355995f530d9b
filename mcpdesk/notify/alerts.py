"""Alerts: what the admins of a team have to look at, one at a time for each matter."""

from datetime import datetime

from mcpdesk.accounts.access import MATRIX, Permission
from mcpdesk.accounts.models import Membership
from mcpdesk.audit.log import DESK, Actor, record
from mcpdesk.notify import outbox
from mcpdesk.notify.models import Alert, Topic
from mcpdesk.notify.outbox import About, Notice


def raise_alert(team_id: int, matter: str, sentence: str, now: datetime, *, path: str = "") -> None:
    """Alert the admins, unless they are alerted of this matter already.

    Called in the transaction of what it is about. `matter` is a key, its kind before a colon
    ("clock", "nobody_left:<id>"); `sentence` is ours; `path` is the page to look at.
    """
    alert, created = Alert.objects.get_or_create(
        team_id=team_id,
        matter=matter,
        closed_at__isnull=True,
        defaults={"sentence": sentence[:300], "path": path, "opened_at": now},
    )
    if not created:
        return
    record("alert.raised", team_id=team_id, actor=DESK, now=now, about=_kind(matter))
    notice = Notice(
        topic=Topic.ALERT,
        event="alert.opened",
        subject=f"Look at this: {sentence}",
        sentence=sentence,
        path=path or "/inbox/",
    )
    outbox.tell(_about(alert), notice, to=admins(team_id), now=now)


def close_alert(team_id: int, matter: str, now: datetime, *, actor: Actor = DESK) -> Alert | None:
    """The matter is over, or an admin has seen to it; None where no alert of it is open."""
    alert = (
        Alert.objects.select_for_update(of=("self",))
        .filter(team_id=team_id, matter=matter, closed_at__isnull=True)
        .first()
    )
    if alert is None:
        return None
    alert.closed_at = now
    alert.save(update_fields=["closed_at"])
    record("alert.closed", team_id=team_id, actor=actor, now=now, about=_kind(matter))
    over = Notice(
        topic=Topic.ALERT,
        event="alert.closed",
        subject=f"Over: {alert.sentence}",
        sentence=f"This is over: {alert.sentence}",
        path=alert.path or "/inbox/",
    )
    outbox.drop(_about(alert), now=now)
    outbox.follow_up(_about(alert), over, now=now)
    return alert


def admins(team_id: int) -> list[int]:
    """The ids of everybody who may administer the team now."""
    roles = [role for role, granted in MATRIX.items() if Permission.ADMINISTER in granted]
    found = Membership.objects.filter(team_id=team_id, role__in=roles, user__is_active=True)
    return list(found.values_list("user_id", flat=True))


def _about(alert: Alert) -> About:
    """Of this one alert: the matter may come up again, and is told again then."""
    return About(alert.team_id, f"alert:{alert.pk}")


def _kind(matter: str) -> str:
    return matter.partition(":")[0][:80]
