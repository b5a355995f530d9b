"""Several plain yes/no items at once: each is decided by itself, and each has its own result.

Nothing is skipped for being one of many: every item goes through decide() or decide_gate() with a
token of its own, made when it was shown whole on the page that asks once more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError
from django.utils import timezone

from approvals import binding, claim, question, selectors, tree
from approvals.decide import Said, decide
from approvals.gate_item import came_to
from approvals.models import Approval, Choice, Kind, Shape, Verdict
from approvals.outcomes import (
    Counted,
    Decided,
    Missing,
    Outcome,
    Refused,
    VerdictOutcome,
    Voted,
    of_closed,
)
from approvals.question import Question
from approvals.text import disguises_in, warnings_for
from approvals.verdict import MAX_REASON_CHARS, Word, decide_gate
from mcpdesk.accounts.access import Member
from mcpdesk.audit.models import Channel

#: So many at once: what a person can be said to have looked at.
MAX_ITEMS = 50
#: Arguments stored (encrypted) in more bytes than this are read on a page of their own.
MAX_BYTES = 8192
#: So are messages with more characters, or more lines, than this.
MAX_CHARS, MAX_LINES = 600, 12

TOO_MANY = f"At most {MAX_ITEMS} at once. Nothing was decided."
NONE_PICKED = "Pick at least one item. Nothing was decided."
NEEDS_REASON = "Say why you deny them: whoever asked reads it. Nothing was decided."
LONG_REASON = f"The reason has at most {MAX_REASON_CHARS} characters. Nothing was decided."
GONE = "There is no such item here. Nothing was decided."
NOT_TAKEN = "The database could not take this one. Nothing was decided; try it again."

_MORE_THAN_YES = "It asks for more than yes or no, so it has to be opened."
_LONG_ARGUMENTS = "Its arguments are long: they have to be opened and read."
_LONG_MESSAGE = "Its message is long: it has to be opened and read."
_DISGUISED = "Its arguments hold something that is not what it looks like: it has to be opened."
_SENT_BEFORE = "It was sent before, and what became of that is not known: it has to be opened."
_WARNINGS = "There is something to be careful about in its message, so it has to be opened."
_PROPOSED = "An answer was proposed: it has to be opened to be confirmed."
_NOT_YOURS = "It does not wait for you."
_CHOICES = {Verdict.APPROVE: Choice.ACCEPT, Verdict.DENY: Choice.DECLINE}
_SAID = {Verdict.APPROVE: "Approved.", Verdict.DENY: "Denied."}


@dataclass(frozen=True, slots=True)
class Shown:
    """One picked item as the page that asks once more shows it, whole.

    `alone` says why it is left out (empty: it is not); `token` binds it to what is shown.
    """

    approval: Approval
    alone: str
    arguments: list[tree.Row]
    asked: Question | None
    token: str

    @property
    def server_host(self) -> str:
        return question.server_host(self.approval.operation.server.url)


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one item. `approval` None: there is no such item for this member."""

    approval: Approval | None
    done: bool
    sentence: str


def why_alone(member: Member, approvals: Iterable[Approval], now: datetime) -> dict[UUID, str]:
    """By item, why it cannot be decided together with others (empty: it can).

    For items that wait for this member. One query, however many there are.
    """
    listed = list(approvals)
    plain = [one for one in listed if one.shape in (Shape.RUN, Shape.CONFIRM)]
    arguments = selectors.short_arguments(plain, MAX_BYTES) if plain else {}
    return {one.pk: _why_alone(member, one, arguments, now) for one in listed}


def show(member: Member, approval_ids: Iterable[UUID], now: datetime) -> list[Shown]:
    """The items that exist for this member, oldest first, as they are now."""
    wanted = list(approval_ids)
    # first who it waits for, then what it is: what somebody decides in between is read as decided
    waiting = selectors.decidable_among(member, wanted)
    found = selectors.picked(member, wanted)
    reasons = why_alone(member, [one for one in found if one.is_open and one.pk in waiting], now)
    return [_shown(member, one, reasons.get(one.pk), now) for one in found]


def decide_each(
    tokens: Mapping[UUID, str],
    *,
    member: Member,
    verdict: Verdict,
    reason: str = "",
    channel: Channel = Channel.WEB,
) -> list[Line] | Refused:
    """Say `verdict` to each item whose token is given, in a transaction of its own each.

    A gate is approved or denied, a question accepted or declined. Refused: nothing was tried.
    """
    refusal = _why_none(len(tokens), verdict, reason)
    if refusal:
        return Refused(refusal)
    shown = {one.approval.pk: one for one in show(member, tokens, timezone.now())}
    return [
        _decide(shown.get(pk), token, member, verdict, reason, channel)
        for pk, token in tokens.items()
    ]


def _why_none(count: int, verdict: Verdict, reason: str) -> str:
    if not count:
        return NONE_PICKED
    if count > MAX_ITEMS:
        return TOO_MANY
    if len(reason) > MAX_REASON_CHARS:
        return LONG_REASON
    return NEEDS_REASON if verdict is Verdict.DENY and not reason.strip() else ""


def _why_alone(
    member: Member, approval: Approval, arguments: Mapping[UUID, object], now: datetime
) -> str:
    if approval.shape not in (Shape.RUN, Shape.CONFIRM):
        return _MORE_THAN_YES
    worker = claim.holder(approval, now)
    if worker is not None and worker != member.user:
        return f"{worker} has claimed it: it has to be opened to be taken over."
    if approval.proposed_by_id is not None:
        return _PROPOSED
    if approval.operation_id not in arguments:
        return _LONG_ARGUMENTS
    return _why_opened(tree.rows(arguments[approval.operation_id])) or _why_unread(approval)


def _why_opened(arguments: list[tree.Row]) -> str:
    """Why the arguments have to be read on the item's page."""
    if any(row.is_long for row in arguments):
        return _LONG_ARGUMENTS
    return _DISGUISED if disguises_in(tree.words_of(arguments)) else ""


def _why_unread(approval: Approval) -> str:
    """Why it has to be read on its page: the words of a question, what a gate warns of."""
    if approval.input_request is None:
        return _SENT_BEFORE if approval.sends_again else ""
    asked = question.read(approval.input_request)
    if asked.shape != Shape.CONFIRM:
        return _MORE_THAN_YES
    if len(asked.message) > MAX_CHARS or asked.message.count("\n") > MAX_LINES:
        return _LONG_MESSAGE
    return _WARNINGS if warnings_for(asked.message) else ""


def _shown(member: Member, approval: Approval, alone: str | None, now: datetime) -> Shown:
    """`alone` None: it does not wait for this member."""
    if alone is None:
        closed = not approval.is_open
        why = of_closed(approval, member.user_id).sentence if closed else _NOT_YOURS
        return Shown(approval, why, [], None, "")
    if alone:
        return Shown(approval, alone, [], None, "")
    request = approval.input_request
    return Shown(
        approval,
        "",
        tree.rows(approval.operation.payload.arguments),
        question.read(request) if request else None,
        binding.bind(approval, user_id=member.user_id, now=now),
    )


def _decide(
    shown: Shown | None,
    token: str,
    member: Member,
    verdict: Verdict,
    reason: str,
    channel: Channel,
) -> Line:
    if shown is None:
        return Line(None, False, GONE)
    if shown.alone:
        return Line(shown.approval, False, shown.alone)
    try:
        outcome = _say(shown.approval, token, member, verdict, reason, channel)
    except DatabaseError:
        # what was decided before it stands, and what comes after it has its own chance
        return Line(shown.approval, False, NOT_TAKEN)
    return _line(shown.approval, outcome, verdict)


def _say(
    approval: Approval,
    token: str,
    member: Member,
    verdict: Verdict,
    reason: str,
    channel: Channel,
) -> Outcome | VerdictOutcome:
    now = timezone.now()
    if approval.kind == Kind.GATE:
        word = Word(verdict, token, reason)
        return decide_gate(approval.pk, member=member, word=word, now=now, channel=channel)
    said = Said(_CHOICES[verdict], token)
    return decide(approval.pk, member=member, said=said, now=now, channel=channel)


def _line(approval: Approval, outcome: Outcome | VerdictOutcome, verdict: Verdict) -> Line:
    match outcome:
        case Missing():
            return Line(None, False, GONE)
        case Voted():
            return Line(approval, True, f"{_SAID[verdict]} {came_to(approval, outcome.came_to)}")
        case Decided():
            word = "Approved" if verdict is Verdict.APPROVE else "Declined"
            return Line(approval, True, f"{word}. The answer is saved and on its way.")
        case Counted():
            return Line(approval, True, outcome.sentence)
        case _:
            return Line(approval, False, outcome.sentence)
