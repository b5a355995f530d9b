"""Who has opened an item, once for each person, for its timeline."""

from datetime import datetime

from django.db import transaction

from approvals.models import Approval, Look
from mcpdesk.accounts.access import Member
from mcpdesk.audit.log import Actor, record


@transaction.atomic
def note(approval: Approval, *, member: Member, now: datetime) -> bool:
    """Write down that this person has opened the item; False: they had opened it before."""
    _, is_first = Look.objects.get_or_create(
        approval=approval, user=member.user, defaults={"at": now}
    )
    if is_first:
        record(
            "approval.looked",
            team_id=approval.team_id,
            actor=Actor.person(member),
            now=now,
            operation_id=approval.operation_id,
            approval_id=approval.pk,
            server_id=approval.operation.server_id,
        )
    return is_first
