"""Hand an item to a colleague who may decide it: theirs to claim first, and they are told."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from approvals import claim, comments, notices
from approvals.outcomes import Missing, Refused
from approvals.votes import Turn
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import User

NO_SUCH_COLLEAGUE = "Choose a colleague who may decide this. Nothing changed."
TO_YOURSELF = "It cannot be handed to yourself: claim it instead."


@dataclass(frozen=True, slots=True)
class Handed:
    """The colleague has it until then (UTC)."""

    to: User
    until: datetime


Outcome = Handed | Refused | Missing


def hand(
    approval_id: UUID, *, member: Member, to_user_id: int, words: str = "", now: datetime
) -> Outcome:
    """Give the claim to a colleague; `words`, if any, are a comment that they are told of.

    Only somebody who may decide it gets it, and never past a third person's claim.
    """
    with transaction.atomic(durable=True):
        found = claim.workable(approval_id, member, now)
        if not isinstance(found, Turn):
            return found
        colleague = _colleague(found, to_user_id)
        if colleague is None:
            return Refused(NO_SUCH_COLLEAGUE)
        refusal = _why_not(found, colleague, words, now)
        if refusal is not None:
            return Refused(refusal)
        given = claim.give(found.approval, colleague, now)
        found.note("approval.handed", person=colleague)
        if words.strip():
            comments.write(found, words, also=(colleague,))
        notices.handed(found.approval, colleague, found.member.user, now)
        return Handed(colleague, given.until)


def _colleague(found: Turn, user_id: int) -> User | None:
    """Somebody who may decide this item right now."""
    may = access.deciders(found.approval, found.now).users
    return next((user for user in may if user.pk == user_id), None)


def _why_not(found: Turn, colleague: User, words: str, now: datetime) -> str | None:
    if colleague.pk == found.member.user_id:
        return TO_YOURSELF
    claimed = claim.why_not(found.approval, found.member.user_id, now)
    if claimed or not words.strip():
        return claimed
    return comments.why_not(found.approval, found.member, words)
