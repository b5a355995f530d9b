"""The votes on an item: whose still count, and what they come to. Gates and answers alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F

from approvals import policy, standstill, words
from approvals.events import note
from approvals.gate import snapshot_of
from approvals.models import Approval, ApprovalState, Choice, Verdict, Vote
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Deciders, Member, Right
from mcpdesk.audit.log import Actor

_YES = (Verdict.APPROVE, Choice.ACCEPT)


@dataclass(frozen=True, slots=True)
class Turn:
    """One person's turn at an item that is locked, open, and theirs to decide at `now` (UTC)."""

    approval: Approval
    member: Member
    actor: Actor
    now: datetime

    def note(self, kind: str, **data: Any) -> None:
        """An event about this item by this person, in the caller's transaction."""
        note(self.approval, kind, self.actor, self.now, **data)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an item has come: `count` of `needed` people agree, `votes` are theirs."""

    count: int
    needed: int
    votes: list[Vote]
    said: list[Vote]  # all there are, in the order they were given: also what counts no more
    who: Deciders  # nobody, once it is closed

    @property
    def missing(self) -> int:
        return self.needed - self.count


def cast(turn: Turn, choice: Choice | Verdict, reason: str = "") -> None:
    """Write what this member says of the item as it is now, and for whom they say it.

    One row for each person and version: a later word takes the place of an earlier one.
    """
    acted_for = access.acting_for(turn.member, turn.approval)
    said = {"choice": choice, "at": turn.now, "reason": reason.strip() or None}
    Vote.objects.update_or_create(
        approval=turn.approval,
        user=turn.member.user,
        version=turn.approval.version,
        defaults={**said, "acted_for": acted_for},
    )
    words.said(turn.approval, turn.member.user_id, reason)
    if acted_for is None:
        turn.note("approval.voted", choice=choice.value)
    else:
        turn.note("approval.voted_for", choice=choice.value, person=acted_for)


def standing(approval: Approval, at: datetime) -> list[Vote]:
    """Votes given by a right that still is one at `at` (UTC), in the order they were given.

    Who has left, lost the role, or no longer stands in counts no more. Only votes on the version
    that stands count: they say yes to exactly what it shows.
    """
    said = _said_on([approval])
    return _counting(approval, said, access.deciders(approval, at)) if said else []


def _said_on(approvals: Sequence[Approval]) -> list[Vote]:
    # fetched apart: mostly there is none, and joining people to nothing costs more
    found = Vote.objects.filter(approval__in=approvals).prefetch_related("user", "acted_for")
    return list(found.order_by("at", "pk"))


def _counting(approval: Approval, said: list[Vote], who: Deciders) -> list[Vote]:
    """standing(), of all that was said to an item. To one that is closed, it counts as it did then,
    whoever has left since.
    """
    on_this = [vote for vote in said if vote.version == counted_version(approval)]
    if not approval.is_open:
        return on_this
    return [vote for vote in on_this if Right(vote.user_id, vote.acted_for_id) in who.rights]


def came_to(approval: Approval, now: datetime) -> policy.Decision:
    """What the votes on an open item come to at `now` (UTC). Raises policy.BadRule."""
    return policy.decision(snapshot(approval, now), _ballots(standing(approval, now)), now)


def progress(approval: Approval, now: datetime) -> Progress:
    """How far an item has come at `now` (UTC), or had come when it was closed, for pages.

    Nothing, where its policy cannot be read: it stays readable, and nobody can agree to it.
    """
    return progress_on([approval], now)[approval.pk]


def progress_on(approvals: Sequence[Approval], now: datetime) -> dict[UUID, Progress]:
    """progress() of each, in as many queries as of one where their `people` are fetched before."""
    said, who = _said_on(approvals), _deciders_on(approvals, now)
    return {
        one.pk: _progress(one, [v for v in said if v.approval_id == one.pk], who[one.pk], now)
        for one in approvals
    }


def _deciders_on(approvals: Sequence[Approval], now: datetime) -> dict[UUID, Deciders]:
    """Who may decide each at `now` (UTC): nobody, once it is closed."""
    waiting = [one for one in approvals if one.is_open]
    asked = dict(zip([w.pk for w in waiting], access.deciders_of(waiting, now), strict=True))
    return {one.pk: asked.get(one.pk, Deciders(one.team_id)) for one in approvals}


def _progress(approval: Approval, said: list[Vote], who: Deciders, now: datetime) -> Progress:
    try:
        # a page says how many agreed also when the deadline has passed
        timeless = _timeless(approval)
    except policy.BadRule:
        return Progress(0, 1, [], said, who)
    votes = _counting(approval, said, who)
    # who refused takes nothing away from how many had agreed
    agreed = [ballot for ballot in _ballots(votes) if ballot.approves]
    found = policy.decision(timeless, agreed, now)
    return Progress(_agreeing(found), timeless.ask.quorum, votes, said, who)


def _agreeing(found: policy.Decision) -> int:
    if isinstance(found, policy.Approved):
        return len(found.by)
    return found.approvals if isinstance(found, policy.Waiting) else 0


def snapshot(approval: Approval, now: datetime) -> policy.Snapshot:
    """The policy that an item was made with, and its deadline as of `now` (UTC): holds move it.

    Raises policy.BadRule.
    """
    return replace(_timeless(approval), deadline_at=standstill.deadline_of(approval, now))


def _timeless(approval: Approval) -> policy.Snapshot:
    """Without a deadline. A question that no rule spoke of needs one person."""
    if approval.policy is not None:
        return replace(snapshot_of(approval), deadline_at=None)
    ask = policy.Ask(four_eyes=approval.four_eyes)
    return policy.Snapshot(ask, access.requesters(approval.operation), None)


def counted_version(approval: Approval) -> int:
    """The version whose votes count, or counted: to close without a decision is one beyond it."""
    stands = approval.state in (ApprovalState.OPEN, ApprovalState.DECIDED)
    return approval.version if stands else approval.version - 1


def begin_again(server_id: int) -> None:
    """What is open for a server, and was agreed to before it is called as somebody else, is not.

    Part of the transaction of that change. Who has voted sees the item again in their list.
    """
    mine = Approval.objects.filter(operation__server_id=server_id, state=ApprovalState.OPEN)
    locked = mine.order_by("pk").select_for_update(no_key=True, of=("self",))
    Approval.objects.filter(pk__in=list(locked.values_list("pk", flat=True))).update(
        version=F("version") + 1
    )


def _ballots(votes: list[Vote]) -> list[policy.Ballot]:
    return [
        policy.Ballot(vote.user_id, vote.choice in _YES, vote.at, vote.acted_for_id)
        for vote in votes
    ]
