"""Check now: the next look as early as the server allows, or the call after a pause of ours."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from mcpdesk.audit.log import Actor
from tasks_monitor.engine.doorbell import ring_on_commit
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.rows import lock, note
from tasks_monitor.models import Operation
from tasks_monitor.states import TERMINAL, State


@transaction.atomic
def check_now(operation_id: UUID, *, actor: Actor, now: datetime) -> Operation:
    """Bring the next check forward, never to sooner than the server asked. Raises Refused.

    Without a task it is the next call that comes sooner: one that waits out a pause of the desk's
    own, between rounds in which the server asks nothing (basic/patterns/mrtr).
    """
    operation = lock(operation_id)
    _check(operation, now)
    earliest = max(now, operation.poll_not_before or now)
    if operation.due_at is None or operation.due_at > earliest:
        operation.due_at = earliest
        operation.save(update_fields=["due_at"])
    note(operation, "operation.check_requested", now, actor)
    ring_on_commit(operation.pk)
    return operation


def _check(operation: Operation, now: datetime) -> None:
    """Refuse where there is nothing to look at, or where looking sooner is not ours to decide."""
    state = State(operation.state)
    if state in TERMINAL:
        raise Refused(f"The operation has ended: {operation.get_state_display().lower()}.")
    if state == State.AWAITING_APPROVAL:
        raise Refused("The call waits for approval: nothing is looked at until that is decided.")
    pauses = state == State.READY and operation.due_at is not None and operation.due_at > now
    if operation.has_task or pauses:
        return
    if state == State.CALLING:
        raise Refused("The call is on its way: the server answers it by itself.")
    raise Refused("There is no task to check.")
