"""One trace for each operation: from its request through the wait for people to its result.

A span for each state it was in, for each answer that was brought back, for each check that found
something new (not for each check), and one for the whole. They are made once the change that they
speak of is committed.
"""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from opentelemetry.trace import SpanKind

from mcpdesk import tracing
from tasks_monitor.engine.work import Poll
from tasks_monitor.models import Delivery, HistoryEntry, Operation, Server
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State

#: What each state is called in a trace: who is waited for.
_PHASES: Final = {
    State.AWAITING_APPROVAL: "wait for approval",
    State.READY: "wait to be sent",
    State.CALLING: "tools/call",
    State.INPUT_REQUIRED: "wait for people",
    State.WORKING: "remote task",
    **dict.fromkeys(NEEDS_OPERATOR, "wait for an operator"),
}
_FAILED: Final = NEEDS_OPERATOR | {State.FAILED, State.EXPIRED}


def begin(operation_id: UUID, server: Server, tool_name: str, now: datetime) -> str:
    """The `traceparent` that an operation keeps from its first moment on; empty: it has none."""
    ids = _ids(operation_id, server.name, tool_name)
    traceparent, certain = tracing.begin(f"start {tool_name}", now, ids)
    if tracing.is_on():
        transaction.on_commit(certain, robust=True)
    return traceparent


def moved(operation: Operation, before: State, after: State, now: datetime) -> None:
    """It left a state: the time it was in it. Called before the history follows."""
    if not _is_traced(operation):
        return
    since = HistoryEntry.objects.values_list("state_since", flat=True).get(pk=operation.pk)
    kind = SpanKind.CLIENT if before == State.CALLING else SpanKind.INTERNAL
    failed = after in _FAILED
    _span(operation, _PHASES[before], since, now, failed=failed, kind=kind, became=after.value)
    if after in TERMINAL:
        whole: dict[str, Any] = {"state": after.value, "is_error": operation.is_error}
        failed = failed or operation.is_error
        _span(operation, "operation", operation.created_at, now, failed=failed, **whole)


def delivered(operation: Operation, delivery: Delivery, now: datetime) -> None:
    """The server has an answer: the time from its being saved."""
    if _is_traced(operation):
        _span(operation, "deliver answer", delivery.saved_at, now, sent=delivery.times_sent)


def polled(operation: Operation, work: Poll, received_at: datetime) -> None:
    """A check found something new: the time from when it was due."""
    if _is_traced(operation):
        due_at = work.claim.due_at
        _span(operation, "tasks/get", due_at, received_at, kind=SpanKind.CLIENT)


def _is_traced(operation: Operation) -> bool:
    return bool(operation.traceparent) and tracing.is_on()


def _span(
    operation: Operation,
    name: str,
    start: datetime,
    end: datetime,
    *,
    failed: bool = False,
    kind: SpanKind = SpanKind.INTERNAL,
    **more: Any,
) -> None:
    ids = _ids(operation.pk, operation.server.name, operation.tool_name)
    attributes = {**ids, **{f"mcpdesk.{key}": value for key, value in more.items()}}
    traceparent = operation.traceparent
    transaction.on_commit(
        lambda: tracing.span(traceparent, name, start, end, attributes, failed=failed, kind=kind),
        robust=True,
    )


def _ids(operation_id: UUID, server: str, tool_name: str) -> dict[str, Any]:
    return {
        "mcpdesk.operation": str(operation_id),
        "mcpdesk.server": server,
        "gen_ai.tool.name": tool_name,
    }
