"""Two worker processes on one database, racing over many operations."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from django.utils import timezone

from mcpdesk.audit.models import Event
from tasks_monitor.engine.answer import answer
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Delivery, InputRequest, InputRequestState, Operation
from tasks_monitor.states import TERMINAL
from tests import databases
from tests.conftest import CHECKOUT
from tests.engine.desk import FORM_ACCEPTED, Desk

pytestmark = pytest.mark.django_db(transaction=True)

ENOUGH_S = 60.0
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {}),
    ("once_only", {}),
    ("ask_once", {}),
    ("ask_many", {"keys": 3}),
    ("run_task", {"duration_ms": 0}),
    ("task_asks_twice", {}),
    ("task_asks_many", {"keys": 3}),
    ("ask_then_task_asks", {}),
    ("task_drops_answer", {"drops": 1}),
    ("cancel_raced", {"duration_ms": 600_000}),
]


@contextmanager
def a_worker() -> Iterator[None]:
    """A worker as a process of its own, on the database of the tests."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.worker"],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ
        | {"DATABASE_URL": databases.url()}
        | {"CELERY_BROKER_URL": "memory://", "DJANGO_SETTINGS_MODULE": "tests.settings"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    try:
        yield
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(20)


def test_two_workers_do_everything_once(desk: Desk) -> None:
    desk.server.call_timeout_s = 20
    desk.server.save()
    with ExitStack() as workers:
        for _ in range(2):
            workers.enter_context(a_worker())
        operations = []
        for tool, arguments in TOOLS:
            for n in range(3):
                nonce = f"{tool}-{n}"
                desk.clock.now = timezone.now()
                operations.append((nonce, desk.start(tool, nonce=nonce, **arguments)))
        for nonce, operation in operations:
            if nonce.startswith("cancel"):
                desk.cancel(operation)
        _answer_until_all_has_ended(desk)

    effects = desk.simulator.side_effects()
    for nonce, operation in operations:
        operation.refresh_from_db()
        done = effects["by_nonce"].get(nonce, 0)
        if not nonce.startswith("cancel"):
            assert (operation.state, operation.is_error, done) == ("completed", False, 1), nonce
        assert done <= 1
    assert all(count <= 1 for count in effects["started_by_nonce"].values())
    assert effects["ignored_answers"] == {}
    for delivery in Delivery.objects.select_related("input_request__operation"):
        dropped = delivery.input_request.operation.tool_name == "task_drops_answer"
        assert delivery.times_sent == (2 if dropped else 1)
    moved = Event.objects.filter(kind="operation.moved", data__after="Completed")
    assert len(set(moved.values_list("operation_id", flat=True))) == moved.count()


def _answer_until_all_has_ended(desk: Desk) -> None:
    """Somebody answers whatever is asked, as fast as it comes."""
    deadline = time.monotonic() + ENOUGH_S
    while Operation.objects.exclude(state__in=TERMINAL).exists():
        assert time.monotonic() < deadline, list(
            Operation.objects.values_list("state", "tool_name")
        )
        for question in InputRequest.objects.filter(state=InputRequestState.OPEN):
            try:
                answer(question.pk, response=FORM_ACCEPTED, actor=desk.actor, now=timezone.now())
            except Refused:
                continue
