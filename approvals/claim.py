"""Claim: one person works on an item for a while, so that no two do the same work.

Only where one decision suffices, one at a time; it ends by itself. While it lasts, a decision of
anybody else is refused (why_not), and whoever cannot wait takes it over, with a note.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from approvals import comments
from approvals.gate import snapshot_of
from approvals.locking import locked
from approvals.models import Approval, Shape
from approvals.outcomes import Missing, Refused
from approvals.votes import Turn
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import User
from mcpdesk.audit.log import Actor

#: How long a claim lasts.
LASTS = timedelta(minutes=15)
NOT_YOURS = "This was not put to you, or your role no longer decides. Nothing changed."
OVER = "This is over: nobody can work on it any more."
NOBODY_ANSWERS = "Nobody can answer this here, so there is nothing to work on."
SEVERAL_DECIDE = "Several people have to decide this, so that nobody can have it alone."
NOT_CLAIMED_BY_YOU = "You have no claim to give back; somebody may have taken it over."
NEEDS_NOTE = "Say why you take it over: whoever had it reads it. Nothing changed."


@dataclass(frozen=True, slots=True)
class Claimed:
    """It is this person's until then (UTC)."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Released:
    """It is free for everybody it was put to."""


Outcome = Claimed | Released | Refused | Missing


def claim(approval_id: UUID, *, member: Member, now: datetime) -> Outcome:
    """Take the item for LASTS; one's own claim begins again. Refused while another's lasts."""
    with transaction.atomic(durable=True):
        found = workable(approval_id, member, now)
        if not isinstance(found, Turn):
            return found
        refusal = why_not(found.approval, member.user_id, now)
        if refusal is not None:
            return Refused(refusal)
        if holder(found.approval, now) is None:
            found.note("approval.claimed", minutes=LASTS // timedelta(minutes=1))
        return give(found.approval, member.user, now)


def release(approval_id: UUID, *, member: Member, now: datetime) -> Outcome:
    """Give one's own claim back; once it has ended by itself, that is all the same."""
    with transaction.atomic(durable=True):
        found = workable(approval_id, member, now)
        if not isinstance(found, Turn):
            return found
        approval = found.approval
        if approval.claimed_by_id != member.user_id:
            return Refused(NOT_CLAIMED_BY_YOU)
        if holder(approval, now) is not None:
            found.note("approval.released")
        approval.claimed_by = approval.claimed_until = None
        approval.save(update_fields=["claimed_by", "claimed_until"])
        return Released()


def take_over(approval_id: UUID, *, member: Member, reason: str, now: datetime) -> Outcome:
    """Take an item from whoever has claimed it; the reason is a comment that tells them."""
    with transaction.atomic(durable=True):
        found = workable(approval_id, member, now)
        if not isinstance(found, Turn):
            return found
        before = holder(found.approval, now)
        if before is None or before.pk == member.user_id:
            return Refused("Nobody else has it any more: you can simply claim it.")
        if not reason.strip():
            return Refused(NEEDS_NOTE)
        refusal = comments.why_not(found.approval, found.member, reason)
        if refusal is not None:
            return Refused(refusal)
        found.note("approval.taken_over", person=before)
        comments.write(found, reason, also=(before,))
        return give(found.approval, member.user, now)


def holder(approval: Approval, now: datetime) -> User | None:
    """Whose it is at `now` (UTC); None: nobody's, or the claim has ended by itself."""
    lasts = approval.claimed_until is not None and approval.claimed_until > now
    return approval.claimed_by if lasts and approval.is_open else None


def why_not(approval: Approval, user_id: int, now: datetime) -> str | None:
    """Why this person does not decide it now, in a sentence; None: nobody else has claimed it."""
    owner = holder(approval, now)
    if owner is None or owner.pk == user_id:
        return None
    return (
        f"{owner} has claimed this and may be deciding it now. Nothing was done. "
        "If it cannot wait, take it over with a note."
    )


def one_decides(approval: Approval) -> bool:
    """Whether one person's word is enough, so that one person can have it."""
    return approval.policy is None or snapshot_of(approval).ask.quorum == 1


def workable(approval_id: UUID, member: Member, now: datetime) -> Turn | Refused | Missing:
    """The item locked for one of those it was put to, or why it is not theirs to work on."""
    approval = locked(approval_id, member.team_id)
    current = access.member_in(member.user, member.team_id, now)
    if approval is None or current is None:
        return Missing()
    if not approval.is_open:
        return Refused(OVER)
    if not access.may_decide(current, approval):
        return Refused(NOT_YOURS)
    if approval.shape == Shape.UNOFFERED:
        return Refused(NOBODY_ANSWERS)
    if not one_decides(approval):
        return Refused(SEVERAL_DECIDE)
    return Turn(approval, current, Actor.person(current), now)


def give(approval: Approval, user: User, now: datetime) -> Claimed:
    """Write whose the locked item is, from `now` (UTC) for LASTS."""
    approval.claimed_by, approval.claimed_until = user, now + LASTS
    approval.save(update_fields=["claimed_by", "claimed_until"])
    return Claimed(approval.claimed_until)
