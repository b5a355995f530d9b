"""Why somebody can or cannot act on an item; each reason has a banner of its own."""

from datetime import datetime
from enum import StrEnum, auto

from approvals import claim
from approvals.models import Approval, ApprovalState, Draft
from approvals.votes import Progress
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from tasks_monitor.states import TERMINAL, State


class Standing(StrEnum):
    """How one person stands to one item now."""

    YOUR_TURN = auto()
    PUT_ASIDE = auto()
    YOU_AGREED = auto()  # and more people are needed
    CLAIMED = auto()  # by somebody else, for a while
    YOU_STARTED = auto()
    YOU_MADE_ITS_TOKEN = auto()  # by which a service started it
    ROLE_TOO_SMALL = auto()
    NOT_PUT_TO_YOU = auto()
    OVERDUE = auto()
    YOU_DECIDED = auto()
    DECIDED = auto()
    WITHDRAWN = auto()
    SUPERSEDED = auto()
    EXPIRED = auto()
    CLOSED = auto()

    @property
    def can_act(self) -> bool:
        return self in (Standing.YOUR_TURN, Standing.PUT_ASIDE, Standing.YOU_AGREED)


def of(
    member: Member,
    approval: Approval,
    progress: Progress,
    draft: Draft | None,
    deadline: datetime | None,
    now: datetime,
) -> Standing:
    """How this member stands to the item at `now` (UTC); `deadline` is ours, as it is now."""
    if approval.state == ApprovalState.DECIDED:
        mine = approval.decided_by_id == member.user_id
        return Standing.YOU_DECIDED if mine else Standing.DECIDED
    if not approval.is_open:
        return Standing(approval.state)
    barred = _barred(member, approval, progress, deadline, now)
    return barred or _open_to(member, approval, progress, draft, now)


def _barred(
    member: Member,
    approval: Approval,
    progress: Progress,
    deadline: datetime | None,
    now: datetime,
) -> Standing | None:
    """What keeps this member from deciding an open item at all."""
    if approval.four_eyes and access.is_requester(member, approval.operation):
        started = access.is_starter(member, approval.operation)
        return Standing.YOU_STARTED if started else Standing.YOU_MADE_ITS_TOKEN
    if not progress.who.include(member):
        too_small = access.was_put_to(member, approval)
        return Standing.ROLE_TOO_SMALL if too_small else Standing.NOT_PUT_TO_YOU
    return Standing.OVERDUE if deadline is not None and deadline <= now else None


def _open_to(
    member: Member, approval: Approval, progress: Progress, draft: Draft | None, now: datetime
) -> Standing:
    if claim.why_not(approval, member.user_id, now):
        return Standing.CLAIMED
    said = any(vote.user_id == member.user_id for vote in progress.votes)
    # enough by now, since somebody's right came back: one more word carries it out
    if said and progress.missing:
        return Standing.YOU_AGREED
    aside = draft is not None and draft.snoozed_until is not None and draft.snoozed_until > now
    return Standing.PUT_ASIDE if aside else Standing.YOUR_TURN


def may_cancel_operation(member: Member, approval: Approval) -> bool:
    """Whether this member may ask for the item's whole operation to be cancelled, and it can be."""
    operation = approval.operation
    can_be = operation.cancel_requested_at is None and State(operation.state) not in TERMINAL
    return member.may(Permission.OPERATE) and can_be
