"""Rows of the inbox: what a list says of each item beside its first words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.urls import reverse

from approvals import bulk, claim, votes
from approvals.filters import NEAR, Tab
from approvals.models import Approval, Kind, Shape
from approvals.votes import Progress
from mcpdesk.accounts.access import Member

#: The lists of what a member can decide now: several of these can be decided at once.
_DECIDABLE = (Tab.MINE, Tab.ASIDE)


@dataclass(frozen=True, slots=True)
class Row:
    """One item of a list; `approval` is as selectors.page() reads it."""

    approval: Approval
    progress: Progress | None  # how many of how many have approved it; None: one decides it
    on_hold: bool  # nothing is sent to its server now
    worker: str  # who works on it now, by name or "you"; empty: nobody
    acts_for: str  # whose stand-in this member decides it as, by name; empty: in their own right
    has_box: bool  # it can be picked to be decided together with others
    alone: str  # why it cannot, in a sentence; empty also where nothing can be picked at all
    is_near: bool  # its time is nearly up, and runs

    @property
    def address(self) -> str:
        """Of its own page."""
        return reverse("inbox_item", args=[self.approval.pk])

    @property
    def facts(self) -> list[str]:
        """What kind of item it is, who asked for it, and how far it has come."""
        approval, question = self.approval, self.approval.input_request
        known = [
            "Send it again?" if approval.sends_again else Shape(approval.shape).label,
            f"round {question.round}" if question and question.round > 1 else "",
            f"from {approval.asked_by}",
            f"for {self.acts_for}" if self.acts_for else "",
            self._agreed,
            f"claimed by {self.worker}" if self.worker else "",
        ]
        return [fact for fact in known if fact]

    @property
    def _agreed(self) -> str:
        if self.progress is None:
            return ""
        word = "approved" if self.approval.kind == Kind.GATE else "agreed"
        return f"{self.progress.count} of {self.progress.needed} {word}"


def of(member: Member, tab: Tab, approvals: Sequence[Any], now: datetime) -> list[Row]:
    """The rows of a page, in so many queries whatever their number."""
    found = _progress(approvals, now)
    decidable = tab in _DECIDABLE
    reasons = bulk.why_alone(member, approvals, now) if decidable else {}
    return [
        _row(member, one, found.get(one.pk), now, decidable, reasons.get(one.pk, ""))
        for one in approvals
    ]


def _progress(approvals: Sequence[Approval], now: datetime) -> dict[UUID, Progress]:
    """Of those that several people have to agree to, as the item's own page counts it."""
    several = [one for one in approvals if one.is_open and _needed(one) > 1]
    if not several:
        return {}
    prefetch_related_objects(several, "people")
    return votes.progress_on(several, now)


def _row(
    member: Member,
    approval: Any,
    progress: Progress | None,
    now: datetime,
    decidable: bool,
    alone: str,
) -> Row:
    away = {one.user_id: str(one.user) for one in member.stands_in_for}
    on_hold = approval.is_open and approval.on_hold
    ends_at = approval.ends_at
    return Row(
        approval=approval,
        progress=progress,
        on_hold=on_hold,
        worker=_worker(member, approval, now),
        acts_for=away.get(approval.acts_for, "") if approval.is_open else "",
        has_box=decidable and not alone,
        alone=alone,
        is_near=ends_at is not None and not on_hold and ends_at - now < NEAR,
    )


def _worker(member: Member, approval: Approval, now: datetime) -> str:
    holder = claim.holder(approval, now)
    if holder is None:
        return ""
    return "you" if holder.pk == member.user_id else str(holder)


def _needed(approval: Approval) -> int:
    """How many people must approve, as the item's own snapshot says; 1 where none is kept."""
    kept = approval.policy if isinstance(approval.policy, dict) else {}
    ask = kept.get("ask")
    quorum = ask.get("quorum") if isinstance(ask, dict) else 1
    return quorum if isinstance(quorum, int) else 1
