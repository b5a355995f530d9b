"""The gate before the call, as far as the engine knows of it: sent at last, or never.

Each verb leaves AWAITING_APPROVAL and no other state; who decided, and by what rule, is the
business of the layer above. A call that was to be sent again was sent before: where it is not, the
operation is what it was (engine.again).
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from mcpdesk.audit.log import CLOCK, Actor
from tasks_monitor.engine import again
from tasks_monitor.engine.doorbell import ring_on_commit
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.rows import lock, move
from tasks_monitor.models import Operation
from tasks_monitor.states import State


@transaction.atomic
def release(operation_id: UUID, *, actor: Actor, now: datetime) -> Operation:
    """The call may be made: it is due at once. Raises Refused."""
    operation = _awaiting(operation_id)
    reason = "Approved at the gate"
    if operation.again_from:
        again.send(operation, reason, actor, now)
        return operation
    move(operation, State.READY, now=now, actor=actor, reason=reason, due_at=now)
    ring_on_commit(operation.pk)
    return operation


@transaction.atomic
def deny(operation_id: UUID, *, actor: Actor, now: datetime, reason: str) -> Operation:
    """The call is not made. `reason` is a sentence of ours, for the log. Raises Refused."""
    operation = _awaiting(operation_id)
    if operation.again_from:
        again.leave(operation, "Denied at the gate: it is not sent again", actor, now)
        return operation
    move(operation, State.DENIED, now=now, actor=actor, reason=reason)
    return operation


@transaction.atomic
def expire(operation_id: UUID, *, now: datetime) -> Operation:
    """Nobody decided in time: the call is not made, and nobody refused it. Raises Refused."""
    operation = _awaiting(operation_id)
    reason = "Nobody decided at the gate in time"
    if operation.again_from:
        again.leave(operation, reason, CLOCK, now)
        return operation
    move(operation, State.EXPIRED, now=now, actor=CLOCK, reason=reason)
    return operation


def _awaiting(operation_id: UUID) -> Operation:
    operation = lock(operation_id)
    if operation.state != State.AWAITING_APPROVAL:
        state = operation.get_state_display().lower()
        raise Refused(f"The operation does not wait for approval any more: it is {state}.")
    return operation
