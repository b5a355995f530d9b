"""Agree: so many people have to say yes to exactly one answer before it is sent.

The first proposes it, the others confirm what their form shows them; whoever wants another one
proposes that, and the count begins again. Where one person is enough nothing is proposed.
"""

from dataclasses import dataclass
from typing import Any, assert_never

from approvals import drafts, policy, proposal, votes
from approvals.models import Choice
from approvals.outcomes import Counted, Refused
from approvals.question import Question, Submitted
from approvals.votes import Turn
from tasks_monitor.engine import errors as engine_errors

INCOMPLETE = "Nothing was sent: please look at what is marked below."
SAID_BEFORE = "You agreed to this answer before, and a person counts once. Nothing was sent."
NOT_PROPOSED = (
    "Nothing was sent: you confirm exactly the answer that is proposed, and this is another one. "
    "To begin the count again with yours, propose it instead."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What they want to have sent (an ElicitResult), and the form that it was made of.

    `proposes`: it is to take the place of what somebody else proposed.
    """

    asked: Question
    response: dict[str, Any]
    submitted: Submitted
    proposes: bool


def agree(turn: Turn, answer: Answer) -> Counted | Refused | None:
    """Count a yes to this answer; None: that is enough, and it is to be sent.

    Raises policy.BadRule, and engine.errors.Refused when the time is over by now.
    """
    is_new = _is_new(turn, answer)
    refusal = _why_not_propose(answer) if is_new else _why_not_confirm(turn, answer)
    if refusal is not None:
        return refusal
    if is_new:
        _propose(turn, answer)
    votes.cast(turn, Choice.ACCEPT)
    found = votes.came_to(turn.approval, turn.now)
    match found:
        case policy.Approved():
            return None
        case policy.Waiting():
            return _counted(turn, found, is_new)
        case policy.Denied() | policy.Expired():
            raise engine_errors.Refused("The time to answer this has passed.")
        case _:
            assert_never(found)


def _is_new(turn: Turn, answer: Answer) -> bool:
    """Whether others have to confirm this answer, and nobody has proposed it yet."""
    if votes.snapshot(turn.approval, turn.now).ask.quorum == 1:
        return False
    if turn.approval.proposal is None:
        return True
    return answer.proposes and proposal.differs(turn.approval, answer.response)


def _why_not_propose(answer: Answer) -> Refused | None:
    errors = proposal.unshowable(answer.asked, answer.response, answer.submitted)
    return Refused(INCOMPLETE, errors) if errors else None


def _why_not_confirm(turn: Turn, answer: Answer) -> Refused | None:
    approval = turn.approval
    if approval.proposal is None:
        return None
    if proposal.differs(approval, answer.response):
        errors = proposal.differences(approval, answer.response, answer.asked)
        return Refused(NOT_PROPOSED, errors)
    standing = votes.standing(approval, turn.now)
    said_before = any(vote.user_id == turn.member.user_id for vote in standing)
    # unless that is enough by now: somebody's role may have come back since
    waits = isinstance(votes.came_to(approval, turn.now), policy.Waiting)
    return Refused(SAID_BEFORE) if said_before and waits else None


def _propose(turn: Turn, answer: Answer) -> None:
    """Begin the count with this answer: votes on another one are votes on another version."""
    approval = turn.approval
    approval.proposal, approval.proposed_by = answer.response, turn.member.user
    approval.version += 1
    approval.save(update_fields=["proposal", "proposed_by", "version"])
    turn.note("approval.proposed")


def _counted(turn: Turn, found: policy.Waiting, is_new: bool) -> Counted:
    turn.note("approval.progress", count=found.approvals, needed=found.needed)
    drafts.discard(turn.approval, turn.member.user)
    return Counted(turn.approval, found, is_new)
