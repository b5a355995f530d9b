"""Check now: the next look as early as the server allows."""

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
    """Bring the next check forward, never to sooner than the server asked. Raises Refused."""
    operation = lock(operation_id)
    if State(operation.state) in TERMINAL:
        raise Refused(f"The operation has ended: {operation.get_state_display().lower()}.")
    if not operation.has_task:
        raise Refused("There is no task to check.")
    earliest = max(now, operation.poll_not_before or now)
    if operation.due_at is None or operation.due_at > earliest:
        operation.due_at = earliest
        operation.save(update_fields=["due_at"])
    note(operation, "operation.check_requested", now, actor)
    ring_on_commit(operation.pk)
    return operation
