"""Rows of the inbox: what a list says of each item beside its first words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals import bulk, claim
from approvals.filters import Tab
from approvals.models import Approval
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import User

#: The lists of what a member can decide now: several of these can be decided at once.
_DECIDABLE = (Tab.MINE, Tab.ASIDE)


@dataclass(frozen=True, slots=True)
class Row:
    """One item of a list; `approval` is as selectors.page() reads it."""

    approval: Approval
    given: int  # how many people have approved it
    needed: int  # of so many
    on_hold: bool  # nothing is sent to its server now
    claimed_by: User | None  # who works on it now
    acts_for: str  # whose stand-in this member decides it as, by name; empty: in their own right
    has_box: bool  # it can be picked to be decided together with others
    alone: str  # why it cannot, in a sentence; empty also where nothing can be picked at all

    @property
    def shows_progress(self) -> bool:
        return self.approval.is_open and self.needed > 1


def of(member: Member, tab: Tab, approvals: Sequence[Any], now: datetime) -> list[Row]:
    """The rows of a page; one query more where several can be decided at once."""
    if tab not in _DECIDABLE:
        return [_row(member, approval, now, has_box=False) for approval in approvals]
    reasons = bulk.why_alone(member, approvals, now)
    return [
        _row(member, one, now, has_box=not reasons[one.pk], alone=reasons[one.pk])
        for one in approvals
    ]


def _row(member: Member, approval: Any, now: datetime, *, has_box: bool, alone: str = "") -> Row:
    away = {one.user_id: str(one.user) for one in member.stands_in_for}
    return Row(
        approval=approval,
        given=approval.given,
        needed=_needed(approval),
        on_hold=approval.is_open and approval.on_hold,
        claimed_by=claim.holder(approval, now),
        acts_for=away.get(approval.acts_for, "") if approval.is_open else "",
        has_box=has_box,
        alone=alone,
    )


def _needed(approval: Approval) -> int:
    """How many people must approve, as the item's own snapshot says; 1 where none is kept."""
    kept = approval.policy if isinstance(approval.policy, dict) else {}
    ask = kept.get("ask")
    quorum = ask.get("quorum") if isinstance(ask, dict) else 1
    return quorum if isinstance(quorum, int) else 1
