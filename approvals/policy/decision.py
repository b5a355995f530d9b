"""What the votes on an item come to."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from approvals.policy.model import Ask, AtDeadline


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was fixed when the item was made: changing a rule never changes an approval.

    `requesters` are the ids of who asked for it (access.requesters); `deadline_at` is aware UTC.
    """

    ask: Ask
    requesters: frozenset[int]
    deadline_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one person said, and when (UTC); `acted_for`: whose stand-in they said it as."""

    user_id: int
    approves: bool
    at: datetime
    acted_for: int | None = None

    @property
    def people(self) -> set[int]:
        """Who has spoken with it: the voter, and whom they stood in for."""
        return {self.user_id} if self.acted_for is None else {self.user_id, self.acted_for}


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not decided: so many distinct people have approved, of so many needed."""

    approvals: int
    needed: int

    @property
    def missing(self) -> int:
        return self.needed - self.approvals


@dataclass(frozen=True, slots=True)
class Approved:
    by: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Denied:
    """`by` None: nobody refused, the deadline did, as the rule said."""

    by: int | None


@dataclass(frozen=True, slots=True)
class Expired:
    """The deadline passed; nobody refused."""


Decision: TypeAlias = Waiting | Approved | Denied | Expired


def decision(snapshot: Snapshot, votes: Iterable[Ballot], now: datetime) -> Decision:
    """What the votes come to at `now`.

    One refusal refuses, however many have approved before it: votes can become enough without a
    word, when somebody's role comes back. A person counts once, and so do a person and whoever
    stands in for them; under four eyes whoever asked for it never counts, nor whoever acts for
    them, nor they for anybody. A vote at or after the deadline never does. Time alone expires or
    denies, and never approves.
    """
    counting = sorted((b for b in votes if _counts(snapshot, b)), key=lambda ballot: ballot.at)
    refusal = next((ballot for ballot in counting if not ballot.approves), None)
    if refusal is not None:
        return Denied(refusal.user_id)
    approvals: dict[int, None] = {}
    spoken: set[int] = set()
    for ballot in counting:
        if not spoken.isdisjoint(ballot.people):
            continue
        spoken |= ballot.people
        approvals[ballot.user_id] = None
        if len(approvals) >= snapshot.ask.quorum:
            return Approved(tuple(approvals))
    if snapshot.deadline_at is not None and snapshot.deadline_at <= now:
        return Denied(None) if snapshot.ask.at_deadline is AtDeadline.DENY else Expired()
    return Waiting(len(approvals), snapshot.ask.quorum)


def _counts(snapshot: Snapshot, ballot: Ballot) -> bool:
    if snapshot.ask.four_eyes and not snapshot.requesters.isdisjoint(ballot.people):
        return False
    return snapshot.deadline_at is None or ballot.at < snapshot.deadline_at
