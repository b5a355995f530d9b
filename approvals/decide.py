"""Decide: one person's answer to one item, in one transaction, or a value that says why not."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from approvals import drafts, folds, frame, notices, policy, question, schema_form, votes
from approvals.agree import INCOMPLETE, Answer, agree
from approvals.models import Approval, Choice, Kind
from approvals.outcomes import Decided, Outcome, Refused
from approvals.question import Question, Submitted
from approvals.votes import Turn
from mcpdesk.accounts.access import Member
from mcpdesk.audit.models import Channel
from tasks_monitor.engine import errors as engine_errors
from tasks_monitor.engine.answer import answer
from tasks_monitor.models import InputRequest

FOUR_EYES = (
    "You started this, or made the token that started it, so somebody else must answer. "
    "Nothing was sent."
)
NOT_YOURS = "This question was not put to you, or your role no longer decides. Nothing was sent."
OVERDUE = "The time to answer this has passed. Nothing was sent."
NOT_ALLOWED = "That cannot be said to this question."
_SENTENCES = frame.Sentences(f"{NOT_ALLOWED} Nothing was sent.", FOUR_EYES, NOT_YOURS, OVERDUE)
NO_POLICY = "Who has to agree to an answer cannot be read any more, so nothing was sent."
CONFIRM_SECRETS = (
    "Nothing was sent: this form asks for what looks like a secret. Type it again (the desk kept "
    "nothing of it) and confirm below that you mean to give it to this server."
)


@dataclass(frozen=True, slots=True)
class Said:
    """What a person posted: the choice, the fields as a browser posts them, and the proof.

    `token` is what binding.bind() gave the form; `gives_secrets` is the extra confirmation that a
    form needs which asks for a password, a token or a key; `opened` are the marks of what the page
    had folded and they have opened (folds). `proposes`: it is to take the place of the answer that
    somebody else proposed.
    """

    choice: Choice
    token: str
    submitted: Submitted = field(default_factory=dict)
    gives_secrets: bool = False
    opened: frozenset[str] = frozenset()
    proposes: bool = False


def decide(
    approval_id: UUID,
    *,
    member: Member,
    said: Said,
    now: datetime,
    channel: Channel = Channel.WEB,
) -> Outcome:
    """Record the person's answer and hand it to the engine to deliver, or say why not.

    Where several people have to agree, the first proposes an answer and the others confirm exactly
    that one; one who declines or cancels decides at once. Whatever is neither `Decided` nor
    `Counted` has written nothing. Membership, role and activity are read again
    under the lock: what the page knew may be out of date.
    """
    try:
        with transaction.atomic(durable=True):
            return _decide(approval_id, member, said, now, channel)
    except engine_errors.Refused as refused:
        return Refused(f"{refused.sentence} Nothing was sent.")
    except policy.BadRule:
        return Refused(NO_POLICY)


def _decide(
    approval_id: UUID, member: Member, said: Said, now: datetime, channel: Channel
) -> Outcome:
    turn = frame.begin(
        approval_id, Kind.ANSWER, _SENTENCES, member=member, now=now, channel=channel
    )
    if not isinstance(turn, Turn):
        return turn
    refusal = _why_not(turn, said)
    if refusal is not None:
        return Refused(refusal)
    asked = question.read(_question_of(turn.approval))
    response = _response(asked, said)
    if isinstance(response, Refused):
        return response
    if said.choice == Choice.ACCEPT:
        unfinished = agree(turn, Answer(asked, response, said.submitted, said.proposes))
        if unfinished is not None:
            return unfinished
    else:
        votes.cast(turn, said.choice)
    return _close(turn, said.choice, response)


def _why_not(turn: Turn, said: Said) -> str | None:
    """What stands against this answer, first things first; None: nothing."""
    barred = frame.why_not(turn, said.token, _SENTENCES)
    if barred or said.choice != Choice.ACCEPT:
        return barred
    return folds.why_not(turn.approval, said.opened)


def _response(asked: Question, said: Said) -> dict[str, Any] | Refused:
    """The ElicitResult this person's words make (client/elicitation)."""
    if said.choice not in asked.allowed:
        return Refused(f"{asked.problem or NOT_ALLOWED} Nothing was sent.")
    if said.choice != Choice.ACCEPT or asked.link is not None:
        return schema_form.response(said.choice.value)
    made = schema_form.answer(asked.requested_schema, said.submitted)
    if isinstance(made, schema_form.Refused):
        return Refused(INCOMPLETE, made.errors)
    if isinstance(made, schema_form.Unrenderable):
        return Refused(f"{made.reason} Nothing was sent.")
    if asked.asks_for_secrets and not said.gives_secrets:
        return Refused(CONFIRM_SECRETS)
    return schema_form.response(said.choice.value, made.content)


def _close(turn: Turn, choice: Choice, response: dict[str, Any]) -> Decided:
    approval, now = turn.approval, turn.now
    frame.end(turn, choice)
    drafts.discard(approval, turn.member.user)
    answer(_question_of(approval).pk, response=response, actor=turn.actor, now=now)
    notices.closed(approval, now)
    return Decided(approval, choice)


def _question_of(approval: Approval) -> InputRequest:
    if approval.input_request is None:
        raise ValueError(f"approval {approval.pk} has no question to answer")
    return approval.input_request
