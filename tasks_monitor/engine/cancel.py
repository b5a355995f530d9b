"""Cancel: a request, never a state of its own; the server says when it is true."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from mcpdesk.audit.log import Actor
from tasks_monitor.engine import again
from tasks_monitor.engine.doorbell import ring_on_commit
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.rows import lock, move, note
from tasks_monitor.models import Operation
from tasks_monitor.states import TERMINAL, State

#: No request of ours is open at the server in these, so the desk itself can end it: before the
#: first call, and between the rounds of a stateless (MRTR) call.
_NOTHING_RUNS = frozenset({State.AWAITING_APPROVAL, State.READY, State.INPUT_REQUIRED})


@transaction.atomic
def request_cancel(operation_id: UUID, *, actor: Actor, now: datetime) -> Operation:
    """Ask for cancellation; asking twice changes nothing. Raises Refused.

    Of a call that waits to be sent again only that is taken back: what was sent before was sent.
    """
    operation = lock(operation_id)
    _check(operation)
    if operation.again_from:
        again.leave(operation, "a person decided not to send it again", actor, now)
        return operation
    if operation.cancel_requested_at is None:
        operation.cancel_requested_at = now
        operation.cancel_requested_by = actor.user
        operation.save(update_fields=["cancel_requested_at", "cancel_requested_by"])
        note(operation, "operation.cancel_requested", now, actor)
        _act(operation, actor, now)
    return operation


def _check(operation: Operation) -> None:
    state = State(operation.state)
    if state in TERMINAL:
        raise Refused(f"The operation has ended: {operation.get_state_display().lower()}.")
    if state in {State.UNKNOWN, State.LOST} or (state == State.STUCK and not operation.has_task):
        raise Refused(
            "There is no task that could be cancelled: decide what happened under Reconcile."
        )


def _act(operation: Operation, actor: Actor, now: datetime) -> None:
    if operation.has_task:
        due = {"due_at": now, "attention": True}
        Operation.objects.filter(pk=operation.pk).update(**due)
        ring_on_commit(operation.pk)
    elif State(operation.state) in _NOTHING_RUNS:
        cancel_here(operation, actor, now)
    # CALLING: what the call comes to decides (engine.settle_call)


def cancel_here(operation: Operation, actor: Actor, now: datetime) -> None:
    """End an operation of which nothing runs at the server."""
    move(
        operation,
        State.CANCELLED,
        now=now,
        actor=actor,
        reason="Cancelled while nothing was running at the server",
    )
