"""Who has opened an item, once for each person, for its timeline."""

from datetime import datetime

from django.db import transaction

from approvals.models import Approval, Look
from approvals.votes import Turn
from mcpdesk.accounts.access import Member
from mcpdesk.audit.log import Actor


@transaction.atomic
def note(approval: Approval, *, member: Member, now: datetime) -> bool:
    """Write down that this person has opened the item; False: they had opened it before."""
    _, is_first = Look.objects.get_or_create(
        approval=approval, user=member.user, defaults={"at": now}
    )
    if is_first:
        Turn(approval, member, Actor.person(member), now).note("approval.looked")
    return is_first
