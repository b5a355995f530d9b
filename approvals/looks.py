"""Who has opened an item, once for each person, for its timeline."""

from datetime import datetime

from django.db import transaction

from approvals.models import Approval, Look
from approvals.votes import Turn
from mcpdesk.accounts.access import Member
from mcpdesk.audit.log import Actor


def note(approval: Approval, *, member: Member, now: datetime) -> bool:
    """Write down that this person has opened the item; False: they had opened it before."""
    looked = Look.objects.filter(approval=approval, user=member.user)
    # mostly they had: that takes one query and no transaction
    return not looked.exists() and _first(approval, member, now)


@transaction.atomic
def _first(approval: Approval, member: Member, now: datetime) -> bool:
    """The same, where nobody else has just written it."""
    _, is_first = Look.objects.get_or_create(
        approval=approval, user=member.user, defaults={"at": now}
    )
    if is_first:
        Turn(approval, member, Actor.person(member), now).note("approval.looked")
    return is_first
