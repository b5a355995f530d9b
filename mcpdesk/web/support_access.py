"""The verbs of the Support page of a team: whether support staff may look, and until when."""

from datetime import datetime, timedelta

from django.db import transaction

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import SupportGrant
from mcpdesk.audit.admins import Who, locked
from mcpdesk.audit.log import Actor, record


@transaction.atomic(durable=True)
def let_in(member: Member, *, hours: int, now: datetime) -> SupportGrant:
    """Support may look for so many hours from now on; a grant from before gives way to this one.

    Raises PermissionDenied.
    """
    team = locked(Who(member, now))
    ends_at = now + timedelta(hours=hours)
    grant, _ = SupportGrant.objects.update_or_create(
        team=team, defaults={"granted_by": member.user, "granted_at": now, "ends_at": ends_at}
    )
    record(
        "support.let_in",
        team_id=team.pk,
        actor=Actor.person(member),
        now=now,
        until=f"{ends_at:%Y-%m-%d %H:%M} UTC",
    )
    return grant


@transaction.atomic(durable=True)
def shut_out(member: Member, now: datetime) -> bool:
    """Support sees nothing any more; once more, or after it ended by itself, changes nothing.

    Raises PermissionDenied.
    """
    team = locked(Who(member, now))
    ended, _ = SupportGrant.objects.filter(team=team, ends_at__gt=now).delete()
    if ended:
        record("support.shut_out", team_id=team.pk, actor=Actor.person(member), now=now)
    return bool(ended)
