"""How items end without a person: never as somebody's refusal (domain.md, "Clocks")."""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from approvals.models import Approval, ApprovalState
from mcpdesk.audit.log import CLOCK, DESK, Actor, record
from tasks_monitor.models import InputRequestState
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
        approval = (
            Approval.objects.select_for_update(of=("self",), skip_locked=True)
            .select_related("operation")
            .filter(pk=approval_id, state=ApprovalState.OPEN)
            .first()
        )
        if approval is None:
            return False
        close(approval, _ending(approval, now), now=now, actor=CLOCK)
        return True


def _ending(approval: Approval, now: datetime) -> ApprovalState:
    """Expired where a clock ended it; closed where its operation ended some other way."""
    operation = approval.operation
    if operation.finished_at is not None and operation.state != State.EXPIRED:
        return ApprovalState.CLOSED
    return ApprovalState.EXPIRED
