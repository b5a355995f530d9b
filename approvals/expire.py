"""How items end without a person: never as somebody's refusal (domain.md, "Clocks")."""

import logging
from datetime import datetime

from approvals import notices, standstill
from approvals.events import note
from approvals.gate import denies_at_deadline
from approvals.models import Approval, ApprovalState, Kind
from mcpdesk.audit.log import CLOCK, DESK, Actor
from tasks_monitor.engine import gate
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.unanswered import give_up
from tasks_monitor.models import InputRequestState
from tasks_monitor.states import State

logger = logging.getLogger(__name__)

#: What becomes of an open item when its question closes. ANSWERED: not through this item.
CLOSES_AS: dict[str, ApprovalState] = {
    InputRequestState.ANSWERED: ApprovalState.CLOSED,
    InputRequestState.WITHDRAWN: ApprovalState.WITHDRAWN,
    InputRequestState.SUPERSEDED: ApprovalState.SUPERSEDED,
    InputRequestState.EXPIRED: ApprovalState.EXPIRED,
    InputRequestState.CLOSED: ApprovalState.CLOSED,
}


def close(approval: Approval, state: ApprovalState, *, now: datetime, actor: Actor = DESK) -> None:
    """Close an open item that the caller has locked, with its event."""
    # as it stands now: a hold that is still on will move no closed item's
    approval.deadline_at = standstill.deadline_of(approval, now)
    approval.state = state
    approval.closed_at = now
    approval.version += 1
    approval.save(update_fields=["state", "closed_at", "version", "deadline_at"])
    note(approval, "approval.closed", actor, now, reason=_reason(approval))
    notices.closed(approval, now)


def _reason(approval: Approval) -> str:
    """Why it closed, in the log: our clock and the server's are never one word."""
    if approval.state != ApprovalState.EXPIRED:
        return ApprovalState(approval.state).label
    return f"{ApprovalState.EXPIRED.label}: {approval.overrun}"


def end_if_over(approval: Approval, now: datetime, *, held: bool) -> bool:
    """Close an open item that the caller has locked, where its operation ended or its deadline
    passed; whether it did. While it is held, no deadline of ours passes.
    """
    if _is_asked_no_more(approval):
        close(approval, ApprovalState.CLOSED, now=now, actor=CLOCK)
        return True
    deadline = None if held else approval.deadline_at
    if approval.operation.finished_at is None and (deadline is None or deadline > now):
        return False
    if approval.operation.state == State.AWAITING_APPROVAL:
        _end_unapproved(approval, now)
    close(approval, ending(approval), now=now, actor=CLOCK)
    if approval.input_request_id is not None and approval.operation.finished_at is None:
        _give_up(approval.input_request_id, now)
    return True


def _is_asked_no_more(approval: Approval) -> bool:
    """A gate whose call was to be sent again, and is not (intake closes it, where it is rung)."""
    operation = approval.operation
    waits = operation.finished_at is not None or operation.state == State.AWAITING_APPROVAL
    return approval.kind == Kind.GATE and not waits


def _give_up(input_request_id: int, now: datetime) -> None:
    try:
        give_up(input_request_id, now=now)
    except Refused:
        # nobody could have answered it, or it closes in another way right now
        logger.info("question %s expired, and nothing could be told of it", input_request_id)


def _end_unapproved(approval: Approval, now: datetime) -> None:
    """The call is never made; the clock did that, and no person refused."""
    if denies_at_deadline(approval):
        reason = "Nobody approved it in time, and the rule denies it then"
        gate.deny(approval.operation_id, actor=CLOCK, now=now, reason=reason)
    else:
        gate.expire(approval.operation_id, now=now)


def ending(approval: Approval) -> ApprovalState:
    """Expired where a clock ended it; closed where its operation ended some other way."""
    operation = approval.operation
    if operation.finished_at is not None and operation.state != State.EXPIRED:
        return ApprovalState.CLOSED
    return ApprovalState.EXPIRED
