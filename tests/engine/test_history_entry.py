"""Each operation has a line in the history, and it moves with the operation."""

from datetime import timedelta

import pytest
from django.db import transaction

from mcpdesk.audit.log import DESK
from tasks_monitor.engine import start
from tasks_monitor.engine.rows import lock, move
from tasks_monitor.models import Operation
from tasks_monitor.states import State
from tests.factories import NOW, ServerFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def operation() -> Operation:
    server = ServerFactory()
    return start.start(
        team_id=server.team_id,
        server_id=server.pk,
        tool_name="deploy",
        arguments={},
        actor=DESK,
        now=NOW,
        awaiting_approval=True,
    ).operation


def _move(operation: Operation, after: State, minutes: int, **changes: object) -> None:
    with transaction.atomic():
        at = NOW + timedelta(minutes=minutes)
        move(lock(operation.pk), after, now=at, reason="because", **changes)


def test_a_new_operation_has_a_line_that_says_what_it_is(operation: Operation) -> None:
    line = operation.history
    assert (line.team_id, line.server_id, line.tool_name) == (
        operation.team_id,
        operation.server_id,
        "deploy",
    )
    assert (line.state, line.state_since, line.finished_at) == (State.AWAITING_APPROVAL, NOW, None)


def test_time_is_counted_for_whom_it_passed_and_waiting_for_a_worker_for_nobody(
    operation: Operation,
) -> None:
    _move(operation, State.READY, 3)
    _move(operation, State.CALLING, 4)
    _move(operation, State.INPUT_REQUIRED, 6)
    _move(operation, State.WORKING, 11)
    _move(operation, State.COMPLETED, 18, is_error=True)
    line = Operation.objects.get(pk=operation.pk).history
    minute = 60_000
    assert line.people_ms == (3 + 5) * minute
    assert line.server_ms == (2 + 7) * minute
    assert line.took_ms == 18 * minute
    assert (line.state, line.is_error) == (State.COMPLETED, True)
    assert line.finished_at == NOW + timedelta(minutes=18)


def test_a_clock_that_is_behind_counts_as_no_time(operation: Operation) -> None:
    _move(operation, State.DENIED, -1)
    line = Operation.objects.get(pk=operation.pk).history
    assert (line.people_ms, line.took_ms) == (0, 0)
