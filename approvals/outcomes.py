"""What deciding, or putting aside, came to. Values, not exceptions: a page shows each of them."""

from dataclasses import dataclass, field
from datetime import datetime

from approvals.models import Approval, ApprovalState, Choice, Kind, Verdict
from approvals.policy import Decision, Waiting

#: Past tense of what a person said, for sentences about others.
SAID: dict[Choice | Verdict, str] = {
    Choice.ACCEPT: "accepted",
    Choice.DECLINE: "declined",
    Choice.CANCEL: "cancelled",
    Verdict.APPROVE: "approved",
    Verdict.DENY: "denied",
}

_ENDED = {
    ApprovalState.WITHDRAWN: "The server withdrew this question before your answer.",
    ApprovalState.SUPERSEDED: "The server replaced this question by another one.",
    ApprovalState.EXPIRED: "This question expired before your answer.",
    ApprovalState.CLOSED: "The operation this question belonged to has ended.",
}
_GATE_ENDED = {
    ApprovalState.EXPIRED: "The time to decide this had passed.",
    ApprovalState.CLOSED: "The operation this belonged to has ended.",
}


@dataclass(frozen=True, slots=True)
class Missing:
    """No such item for this person: whether there is one for others stays untold (404)."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Saved, and on its way to the server."""

    approval: Approval
    choice: Choice


@dataclass(frozen=True, slots=True)
class Counted:
    """Agreed to, and more people are needed: nothing is sent yet.

    `proposed`: this is a new answer, and the count began with this person.
    """

    approval: Approval
    came_to: Waiting
    proposed: bool

    @property
    def sentence(self) -> str:
        kept = "Your proposal is kept." if self.proposed else "You confirmed the proposed answer."
        missing = f"{self.came_to.missing} more of {self.came_to.needed}"
        return f"{kept} Nothing is sent yet: {missing} must confirm exactly this answer."


@dataclass(frozen=True, slots=True)
class Voted:
    """The word counts; `came_to` is what all the words on this gate come to by now."""

    approval: Approval
    verdict: Verdict
    came_to: Decision


@dataclass(frozen=True, slots=True)
class AlreadyAnswered:
    """This person answered before; nothing was sent a second time."""

    choice: Choice | Verdict
    at: datetime

    @property
    def sentence(self) -> str:
        return f"You already {SAID[self.choice]} this. Nothing was sent a second time."


@dataclass(frozen=True, slots=True)
class Lost:
    """Somebody else was first. What this person typed is kept, and was not sent."""

    who: str
    choice: Choice | Verdict
    at: datetime

    @property
    def sentence(self) -> str:
        if isinstance(self.choice, Verdict):
            return f"{self.who} {SAID[self.choice]} this before you. Your word does not count."
        return (
            f"{self.who} was first and {SAID[self.choice]} this. "
            "Your answer was not sent; what you typed is kept below."
        )


@dataclass(frozen=True, slots=True)
class Ended:
    """The question ended without anybody's answer."""

    state: ApprovalState
    of_gate: bool = False

    @property
    def sentence(self) -> str:
        if self.of_gate:
            return f"{_GATE_ENDED[self.state]} Nothing was decided, and nothing was sent."
        return f"{_ENDED[self.state]} Your answer was not sent; what you typed is kept below."


@dataclass(frozen=True, slots=True)
class Refused:
    """Not done, and nothing was written: a sentence, and one for each field it concerns.

    `errors` is by field name, as `schema_form` names them.
    """

    sentence: str
    errors: dict[str, str] = field(default_factory=dict)


#: Outcomes that wrote something; all others left everything as it was.
DONE = (Decided, Counted, Voted)

Outcome = Decided | Counted | AlreadyAnswered | Lost | Ended | Refused | Missing
VerdictOutcome = Voted | AlreadyAnswered | Lost | Ended | Refused | Missing


def what_was_said(decision: str) -> Choice | Verdict:
    """The word of a decision or vote: an answer's or a gate's. Raises ValueError."""
    return Verdict(decision) if decision in Verdict.values else Choice(decision)


def of_closed(approval: Approval, user_id: int) -> AlreadyAnswered | Lost | Ended:
    """What somebody is told whose answer came to an item that is no longer open."""
    if approval.state != ApprovalState.DECIDED:
        return Ended(ApprovalState(approval.state), of_gate=approval.kind == Kind.GATE)
    decided_by, decided_at = approval.decided_by, approval.decided_at
    if decided_by is None or decided_at is None:
        raise ValueError(f"approval {approval.pk} is decided by nobody")
    choice = what_was_said(approval.decision)
    if decided_by.pk == user_id:
        return AlreadyAnswered(choice, decided_at)
    return Lost(str(decided_by), choice, decided_at)
