"""Keeps the history's line of each operation in step with it, in the same transaction."""

from datetime import datetime
from typing import Any, Final

from django.db.models import BigIntegerField, DurationField, ExpressionWrapper, F, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Extract, Greatest

from mcpdesk import blind
from tasks_monitor.engine import words
from tasks_monitor.models import HistoryEntry, Operation
from tasks_monitor.states import State

#: Whose time passes in a state, as a column of the history; in the others nobody's does.
_WHOSE_TIME: Final = {
    State.AWAITING_APPROVAL: "people_ms",
    State.INPUT_REQUIRED: "people_ms",
    State.CALLING: "server_ms",
    State.WORKING: "server_ms",
}


def begin(operation: Operation) -> None:
    """Write the line of an operation that was just made."""
    HistoryEntry.objects.create(
        operation=operation,
        team_id=operation.team_id,
        server_id=operation.server_id,
        tool_name=operation.tool_name,
        started_by_id=operation.started_by_id,
        state=operation.state,
        created_at=operation.created_at,
        state_since=operation.created_at,
        words=words.of_new(operation),
    )


def follow(operation: Operation, before: State, now: datetime) -> None:
    """Take in that the operation, locked by the caller, left `before` at `now` (UTC)."""
    columns: dict[str, Any] = {
        "state": operation.state,
        "is_error": operation.is_error,
        "state_since": now,
        "finished_at": operation.finished_at,
    }
    if before in _WHOSE_TIME:
        column = _WHOSE_TIME[before]
        columns[column] = F(column) + _ms_since("state_since", now)
    if operation.finished_at is not None:
        columns["took_ms"] = _ms_since("created_at", now)
    why = blind.open_numbers(operation.team_id, operation.explanation)
    if why:
        columns["words"] = words.With("words", why)
    HistoryEntry.objects.filter(pk=operation.pk).update(**columns)


def _ms_since(column: str, now: datetime) -> Combinable:
    """Milliseconds from a column to `now`; none where two clocks do not agree."""
    passed = ExpressionWrapper(Value(now) - F(column), output_field=DurationField())
    milliseconds = Cast(Extract(passed, "epoch") * 1000, BigIntegerField())
    return Greatest(milliseconds, Value(0, BigIntegerField()))
