"""How items end without a person: never as somebody's refusal (domain.md, "Clocks")."""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from approvals.gate import denies_at_deadline
from approvals.models import Approval, ApprovalState
from mcpdesk.audit.log import CLOCK, DESK, Actor, record
from tasks_monitor.engine import gate
from tasks_monitor.models import InputRequestState, Operation
from tasks_monitor.states import State

#: What becomes of an open item when its question closes. ANSWERED: not through this item.
CLOSES_AS: dict[str, ApprovalState] = {
    InputRequestState.ANSWERED: ApprovalState.CLOSED,
    InputRequestState.WITHDRAWN: ApprovalState.WITHDRAWN,
    InputRequestState.SUPERSEDED: ApprovalState.SUPERSEDED,
    InputRequestState.EXPIRED: ApprovalState.EXPIRED,
    InputRequestState.CLOSED: ApprovalState.CLOSED,
}

_BATCH = 200


def close(approval: Approval, state: ApprovalState, *, now: datetime, actor: Actor = DESK) -> None:
    """Close an open item that the caller has locked, with its event."""
    approval.state = state
    approval.closed_at = now
    approval.version += 1
    approval.save(update_fields=["state", "closed_at", "version"])
    record(
        "approval.closed",
        team_id=approval.team_id,
        actor=actor,
        now=now,
        operation_id=approval.operation_id,
        approval_id=approval.pk,
        server_id=approval.operation.server_id,
        reason=state.label,
    )


def expire_overdue(now: datetime) -> int:
    """Close items whose deadline passed or whose operation ended; returns how many."""
    overdue = Q(deadline_at__lte=now) | Q(operation__finished_at__isnull=False)
    found = Approval.objects.filter(overdue, state=ApprovalState.OPEN).values_list("pk", flat=True)
    return sum(_expire(pk, now) for pk in found[:_BATCH])


def _expire(approval_id: UUID, now: datetime) -> bool:
    with transaction.atomic(durable=True):
        approval = _locked(approval_id)
        if approval is None:
            return False
        if approval.operation.state == State.AWAITING_APPROVAL:
            _end_unapproved(approval, now)
        close(approval, ending(approval), now=now, actor=CLOCK)
        return True


def _locked(approval_id: UUID) -> Approval | None:
    """An open item; None: not open any more, or somebody is at work on it right now.

    The operation is locked first, as everywhere.
    """
    mine = Approval.objects.filter(pk=approval_id, state=ApprovalState.OPEN)
    operations = Operation.objects.select_for_update(no_key=True, skip_locked=True)
    if not operations.filter(pk__in=mine.values("operation_id")).exists():
        return None
    return (
        mine.select_for_update(of=("self",), skip_locked=True).select_related("operation").first()
    )


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
