"""Decide a gate: one person's word on whether a tool may run, in one transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never
from uuid import UUID

from django.db import transaction

from approvals import binding, claim, drafts, folds, notices, policy, standstill, votes
from approvals.locking import locked
from approvals.models import Approval, ApprovalState, Kind, Verdict
from approvals.outcomes import Missing, Refused, VerdictOutcome, Voted, of_closed
from approvals.votes import Turn
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from mcpdesk.mcp.jsontext import storable
from tasks_monitor.engine import errors as engine_errors
from tasks_monitor.engine import gate as engine_gate

FOUR_EYES = (
    "You started this, or made the token that started it, so somebody else must decide. "
    "Nothing was decided."
)
NOT_YOURS = "This was not put to you, or your role no longer decides. Nothing was decided."
OVERDUE = "The time to decide this has passed. Nothing was decided."
NEEDS_REASON = "Say why you deny it: whoever asked reads it. Nothing was decided."
LONG_REASON = "The reason has at most 500 characters of text. Nothing was decided."
SAID_BEFORE = "You approved this before, and a person counts once. Nothing changed."
NO_POLICY = "Who has to approve it cannot be read any more, so nothing was decided."
NO_GATE = "This item asks something else. Nothing was decided."
MAX_REASON_CHARS = 500


@dataclass(frozen=True, slots=True)
class Word:
    """What a person posted: the verdict, the proof of what was shown, and why.

    `opened`: the marks of what the page had folded and they have opened (folds).
    """

    verdict: Verdict
    token: str
    reason: str = ""
    opened: frozenset[str] = frozenset()


def decide_gate(
    approval_id: UUID,
    *,
    member: Member,
    word: Word,
    now: datetime,
    channel: Channel = Channel.WEB,
) -> VerdictOutcome:
    """Record one person's verdict; release or end the operation once it is decided.

    Whatever is not `Voted` has written nothing. Membership, role and four eyes are checked under
    the lock, for everybody alike.
    """
    try:
        with transaction.atomic(durable=True):
            return _decide(approval_id, member, word, now, channel)
    except engine_errors.Refused as refused:
        return Refused(f"{refused.sentence} Nothing was decided.")
    except policy.BadRule:
        return Refused(NO_POLICY)


def _decide(
    approval_id: UUID, member: Member, word: Word, now: datetime, channel: Channel
) -> VerdictOutcome:
    approval = locked(approval_id, member.team_id)
    current = access.member_in(member.user, member.team_id, now)
    if approval is None or current is None:
        return Missing()
    if approval.kind != Kind.GATE:
        return Refused(NO_GATE)
    if not approval.is_open:
        return of_closed(approval, current.user_id)
    refusal = _why_not(approval, current, word, now)
    if refusal is not None:
        return Refused(refusal)
    turn = Turn(approval, current, Actor.person(current, channel), now)
    votes.cast(turn, word.verdict, word.reason)
    drafts.discard(approval, current.user)
    return _follow(turn, word)


def _why_not(approval: Approval, member: Member, word: Word, now: datetime) -> str | None:
    """What stands against this word, first things first; None: nothing."""
    stale = binding.why_not(word.token, approval, user_id=member.user_id, now=now)
    if stale:
        return stale
    if approval.four_eyes and access.is_requester(member, approval.operation):
        return FOUR_EYES
    if not access.may_decide(member, approval):
        return NOT_YOURS
    deadline_at = standstill.deadline_of(approval, now)
    if deadline_at is not None and deadline_at <= now:
        return OVERDUE
    claimed = claim.why_not(approval, member.user_id, now)
    return claimed or _incomplete(approval, word) or _repeated(approval, member, word, now)


def _incomplete(approval: Approval, word: Word) -> str | None:
    if len(word.reason) > MAX_REASON_CHARS or not storable(word.reason):
        return LONG_REASON
    if word.verdict == Verdict.DENY:
        return None if word.reason.strip() else NEEDS_REASON
    return folds.why_not(approval, word.opened)


def _repeated(approval: Approval, member: Member, word: Word, now: datetime) -> str | None:
    standing = votes.standing(approval, now)
    same = any(vote.user_id == member.user_id and vote.choice == word.verdict for vote in standing)
    # unless the word is enough by now: somebody's role may have come back since
    waits = isinstance(votes.came_to(approval, now), policy.Waiting)
    return SAID_BEFORE if same and waits else None


def _follow(turn: Turn, word: Word) -> VerdictOutcome:
    """Carry out what the votes come to now."""
    operation_id, actor, now = turn.approval.operation_id, turn.actor, turn.now
    found = votes.came_to(turn.approval, now)
    match found:
        case policy.Waiting():
            turn.note("gate.progress", count=found.approvals, needed=found.needed)
        case policy.Approved():
            engine_gate.release(operation_id, actor=actor, now=now)
            _close(turn, Verdict.APPROVE)
        case policy.Denied():
            reason = "Denied at the gate; nothing was sent"
            engine_gate.deny(operation_id, actor=actor, now=now, reason=reason)
            _close(turn, Verdict.DENY)
        case policy.Expired():
            raise engine_errors.Refused(OVERDUE)
        case _:
            assert_never(found)
    return Voted(turn.approval, word.verdict, found)


def _close(turn: Turn, verdict: Verdict) -> None:
    approval = turn.approval
    approval.state = ApprovalState.DECIDED
    approval.decision = verdict
    approval.decided_at = approval.closed_at = turn.now
    approval.decided_by = turn.member.user
    approval.save(update_fields=["state", "decision", "decided_at", "decided_by", "closed_at"])
    turn.note("approval.decided", choice=verdict.value)
    notices.closed(approval, turn.now)
