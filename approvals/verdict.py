"""Decide a gate: one person's word on whether a tool may run, in one transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never
from uuid import UUID

from django.db import transaction

from approvals import drafts, folds, frame, notices, policy, votes
from approvals.models import Approval, Kind, Verdict
from approvals.outcomes import Refused, VerdictOutcome, Voted
from approvals.votes import Turn
from mcpdesk.accounts.access import Member
from mcpdesk.audit.models import Channel
from mcpdesk.mcp.jsontext import storable
from tasks_monitor.engine import errors as engine_errors
from tasks_monitor.engine import gate as engine_gate

FOUR_EYES = (
    "You started this, had it sent again, or made the token that started it, so somebody else "
    "must decide. Nothing was decided."
)
NOT_YOURS = "This was not put to you, or your role no longer decides. Nothing was decided."
OVERDUE = "The time to decide this has passed. Nothing was decided."
NEEDS_REASON = "Say why you deny it: whoever asked reads it. Nothing was decided."
LONG_REASON = "The reason has at most 500 characters of text. Nothing was decided."
SAID_BEFORE = "You approved this before, and a person counts once. Nothing changed."
NO_POLICY = "Who has to approve it cannot be read any more, so nothing was decided."
NO_GATE = "This item asks something else. Nothing was decided."
_SENTENCES = frame.Sentences(NO_GATE, FOUR_EYES, NOT_YOURS, OVERDUE)
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
    turn = frame.begin(approval_id, Kind.GATE, _SENTENCES, member=member, now=now, channel=channel)
    if not isinstance(turn, Turn):
        return turn
    refusal = _why_not(turn, word)
    if refusal is not None:
        return Refused(refusal)
    votes.cast(turn, word.verdict, word.reason)
    drafts.discard(turn.approval, turn.member.user)
    return _follow(turn, word)


def _why_not(turn: Turn, word: Word) -> str | None:
    """What stands against this word, first things first; None: nothing."""
    barred = frame.why_not(turn, word.token, _SENTENCES)
    return barred or _incomplete(turn.approval, word) or _repeated(turn, word)


def _incomplete(approval: Approval, word: Word) -> str | None:
    if len(word.reason) > MAX_REASON_CHARS or not storable(word.reason):
        return LONG_REASON
    if word.verdict == Verdict.DENY:
        return None if word.reason.strip() else NEEDS_REASON
    return folds.why_not(approval, word.opened)


def _repeated(turn: Turn, word: Word) -> str | None:
    standing = votes.standing(turn.approval, turn.now)
    same = any(
        vote.user_id == turn.member.user_id and vote.choice == word.verdict for vote in standing
    )
    # unless the word is enough by now: somebody's role may have come back since
    waits = isinstance(votes.came_to(turn.approval, turn.now), policy.Waiting)
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
    frame.end(turn, verdict)
    notices.closed(turn.approval, turn.now)
