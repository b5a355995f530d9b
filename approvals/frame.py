"""The frame of every decision: the item locked, what stands against this person's word, the end.

The same for questions and for gates; what it comes to in between, and the words, are their own.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals import binding, claim, standstill
from approvals.locking import locked
from approvals.models import ApprovalState, Choice, Kind, Verdict
from approvals.outcomes import AlreadyAnswered, Ended, Lost, Missing, Refused, of_closed
from approvals.votes import Turn
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel


@dataclass(frozen=True, slots=True)
class Sentences:
    """What somebody is told who may not decide; each says that nothing came of it."""

    other_kind: str  # a gate where a question is answered, or the other way round
    four_eyes: str
    not_yours: str
    overdue: str


def begin(
    approval_id: UUID,
    kind: Kind,
    sentences: Sentences,
    *,
    member: Member,
    now: datetime,
    channel: Channel,
) -> Turn | Missing | Refused | AlreadyAnswered | Lost | Ended:
    """The open item, locked, with the member as they are now; or why there is nothing to decide.

    Membership, role and activity are read again: what the page knew may be out of date.
    """
    approval = locked(approval_id, member.team_id)
    current = access.member_in(member.user, member.team_id, now)
    if approval is None or current is None:
        return Missing()
    if approval.kind != kind:
        # gate and elicitation are two questions: answering one never answers the other
        return Refused(sentences.other_kind)
    if not approval.is_open:
        return of_closed(approval, current.user_id)
    return Turn(approval, current, Actor.person(current, channel), now)


def why_not(turn: Turn, token: str, sentences: Sentences) -> str | None:
    """What stands against any word of this member, first things first; None: nothing."""
    approval, member, now = turn.approval, turn.member, turn.now
    stale = binding.why_not(token, approval, user_id=member.user_id, now=now)
    if stale:
        return stale
    if approval.four_eyes and access.is_requester(member, approval.operation):
        return sentences.four_eyes
    if not access.may_decide(member, approval):
        return sentences.not_yours
    deadline_at = standstill.deadline_of(approval, now)
    if deadline_at is not None and deadline_at <= now:
        return sentences.overdue
    return claim.why_not(approval, member.user_id, now)


def end(turn: Turn, choice: Choice | Verdict) -> None:
    """Write what it came to by this member's word, with its event."""
    approval = turn.approval
    approval.state = ApprovalState.DECIDED
    approval.decision = choice
    approval.decided_at = approval.closed_at = turn.now
    approval.decided_by = turn.member.user
    approval.save(update_fields=["state", "decision", "decided_at", "decided_by", "closed_at"])
    turn.note("approval.decided", choice=choice.value)
