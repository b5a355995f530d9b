"""A link that somebody agreed to open: what they say once they have been there.

The consent was sent at once, and nobody tells the desk when the person is done: the server sees it
by itself, when the call is made again or the task is looked at (MCP 2026-07-28, client/elicitation,
"URL Mode Elicitation Requests": clients offer manual controls to retry or cancel).
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from approvals import binding, comments, outcomes
from approvals.decide import Said, decide
from approvals.locking import locked
from approvals.models import Approval, ApprovalState, Choice, Shape
from approvals.outcomes import Missing, Refused
from approvals.votes import Turn
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.audit.log import Actor
from tasks_monitor.engine import errors as engine_errors
from tasks_monitor.engine.checknow import check_now

NOT_YOURS = "Only whoever agreed to open this link can say what came of it. Nothing changed."
DID_NOT_WORK = "The link did not work."


@dataclass(frozen=True, slots=True)
class Looking:
    """The server is asked as soon as it allows."""


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """The server has asked something else meanwhile, which is to be read first."""

    approval: Approval


Outcome = Looking | AskedAgain | Refused | Missing


def finished(approval_id: UUID, *, member: Member, now: datetime) -> Outcome:
    """Have the server look again, now that this person is done at the link.

    Where it has asked for the very same link again, the consent is given once more, which makes the
    call again. Any other question is left to be read.
    """
    approval = _agreed(approval_id, member)
    if not isinstance(approval, Approval):
        return approval
    again = _open_link(approval)
    if again is not None:
        return _consent_again(again, approval, member, now)
    try:
        check_now(approval.operation_id, actor=Actor.person(member), now=now)
    except engine_errors.Refused as refused:
        return Refused(refused.sentence)
    return Looking()


def failed(approval_id: UUID, *, member: Member, words: str, now: datetime) -> comments.Outcome:
    """Say that the link did not work: a comment, of which whoever started the call is told."""
    agreed = _agreed(approval_id, member)
    if not isinstance(agreed, Approval):
        return agreed
    text = f"{DID_NOT_WORK} {words.strip()}".strip()
    with transaction.atomic(durable=True):
        approval = locked(approval_id, member.team_id)
        current = access.member_in(member.user, member.team_id, now)
        if approval is None or current is None:
            return Missing()
        refusal = comments.why_not(approval, current, text)
        if refusal is not None:
            return Refused(refusal)
        turn = Turn(approval, current, Actor.person(current), now)
        turn.note("approval.link_failed")
        return comments.write(turn, text)


def agreed_before(approval: Approval, member: Member) -> Approval | None:
    """The last time that this person agreed, in this operation, to the very same question."""
    agreed = Approval.objects.filter(
        operation=approval.operation_id,
        shape=Shape.LINK,
        decision=Choice.ACCEPT,
        decided_by=member.user_id,
        input_request__fingerprint=_fingerprint(approval),
    )
    return agreed.exclude(pk=approval.pk).order_by("-decided_at").first()


def _agreed(approval_id: UUID, member: Member) -> Approval | Refused | Missing:
    """The link that this very person agreed to open."""
    mine = access.in_team(member, Approval.objects.select_related("input_request"))
    approval = mine.filter(pk=approval_id).first()
    if approval is None:
        return Missing()
    agreed = approval.shape == Shape.LINK and approval.decision == Choice.ACCEPT
    is_theirs = agreed and approval.decided_by_id == member.user_id
    # who is no longer asked anything makes no call go on either
    decides = member.may(Permission.DECIDE)
    return approval if is_theirs and decides else Refused(NOT_YOURS)


def _open_link(approval: Approval) -> Approval | None:
    """A link of the same operation that waits now."""
    found = Approval.objects.filter(
        operation=approval.operation_id, shape=Shape.LINK, state=ApprovalState.OPEN
    )
    return found.select_related("operation__server", "operation__payload", "input_request").first()


def _consent_again(again: Approval, before: Approval, member: Member, now: datetime) -> Outcome:
    """Agree to a question that is the same in every letter; any other is to be read."""
    if _fingerprint(again) != _fingerprint(before):
        return AskedAgain(again)
    token = binding.bind(again, user_id=member.user_id, now=now)
    outcome = decide(again.pk, member=member, said=Said(Choice.ACCEPT, token), now=now)
    return Looking() if isinstance(outcome, outcomes.DONE) else AskedAgain(again)


def _fingerprint(approval: Approval) -> str:
    return approval.input_request.fingerprint if approval.input_request else ""
