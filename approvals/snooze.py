""" "Not now": puts an item aside for one person for a while. Local; sends nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from approvals.events import note
from approvals.models import Approval, Draft
from approvals.outcomes import AlreadyAnswered, Ended, Lost, Missing, Refused, of_closed
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel

#: How long "Not now" lasts.
ASIDE = timedelta(hours=1)
NOT_YOURS = "This question was not put to you, so there is nothing to put aside."


@dataclass(frozen=True, slots=True)
class Snoozed:
    """Out of this person's list until then (UTC); None: back in it."""

    until: datetime | None


Outcome = Snoozed | AlreadyAnswered | Lost | Ended | Refused | Missing


def snooze(approval_id: UUID, *, member: Member, now: datetime) -> Outcome:
    """Put the item aside for this person, who will see it again after ASIDE."""
    return _set(approval_id, member, now + ASIDE, now)


def wake(approval_id: UUID, *, member: Member, now: datetime) -> Outcome:
    """Bring an item back that this person had put aside."""
    return _set(approval_id, member, None, now)


def _set(approval_id: UUID, member: Member, until: datetime | None, now: datetime) -> Outcome:
    with transaction.atomic(durable=True):
        approval = (
            access.in_team(member, Approval.objects.all())
            .select_for_update(of=("self",))
            .select_related("operation", "decided_by")
            .filter(pk=approval_id)
            .first()
        )
        current = access.member_in(member.user, member.team_id, now)
        if approval is None or current is None:
            return Missing()
        if not approval.is_open:
            return of_closed(approval, member.user_id)
        if not access.may_decide(current, approval):
            return Refused(NOT_YOURS)
        Draft.objects.update_or_create(
            approval=approval, user=member.user, defaults={"snoozed_until": until}
        )
        if until is not None:
            _record(approval, member, now)
        return Snoozed(until)


def _record(approval: Approval, member: Member, now: datetime) -> None:
    note(approval, "approval.snoozed", Actor.person(member, Channel.WEB), now)
