"""Our requests and our Task against the official schemas of the Tasks extension, run in Node."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpdesk.mcp import requests
from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.outcomes import TaskCreated, read_call, read_task
from mcpdesk.mcp.tasks import Task
from tests.conformance import node
from tests.mcp.wire import TASK_ID, form, reply, task

pytestmark = pytest.mark.conformance

ANSWERS = {
    "a": {"action": "accept", "content": {"x": ["a"], "y": 1, "z": True, "t": ""}},
    "b": {"action": "decline"},
}
REQUESTS = [
    ("GetTaskRequestV2Schema", requests.get_task(1, TASK_ID)),
    ("GetTaskRequestV2Schema", requests.get_task(2, "ключ \x00", traceparent="00-1-2-01")),
    ("UpdateTaskRequestV2Schema", requests.update_task(3, TASK_ID, ANSWERS)),
    ("UpdateTaskRequestV2Schema", requests.update_task(4, TASK_ID, {})),
    ("CancelTaskRequestV2Schema", requests.cancel_task(5, TASK_ID)),
]

# What servers in the field do, and the official schema refuses, and we tolerate with a note.
TOLERATED = {
    Note.NUMBER_AS_FRACTION,
    Note.RESULT_TYPE_MISSING,
    Note.RESULT_TYPE_TASK,
    Note.TTL_MISSING,
    Note.TTL_UNREADABLE,
    Note.TTL_NOT_POSITIVE,
    Note.POLL_INTERVAL_NOT_POSITIVE,
    Note.POLL_INTERVAL_UNREADABLE,
    Note.TIME_UNREADABLE,
    Note.STATUS_UNKNOWN,
    Note.STATUS_MESSAGE_UNREADABLE,
    Note.RESULT_MISSING,
    Note.ERROR_MISSING,
    Note.INPUT_REQUESTS_EMPTY,
}


@pytest.fixture(scope="module", autouse=True)
def official_packages() -> Path:
    return node.install()


def _corpus() -> Iterator[dict[str, Any]]:
    """Task results with each member in each of its forms, some of them wrong, in a fixed mix."""
    forms: dict[str, list[Any]] = {
        "status": ["working", "input_required", "completed", "failed", "cancelled", "odd", 5, ...],
        "resultType": ["complete", "task", ..., 7],
        "statusMessage": ["Step 1", "", 5, ...],
        "createdAt": ["2026-11-29T10:30:00Z", "2026-11-29T10:30:00.123456789Z", 5, ...],
        "lastUpdatedAt": ["2026-11-29T10:30:00.5Z", ...],
        "ttlMs": [60_000, None, 0, 1.5, "x", ...],
        "pollIntervalMs": [5000, 0, 1.5, "x", ...],
        "inputRequests": [{"a": form()}, {}, [], ...],
        "result": [{"content": []}, {}, "x", ...],
        "error": [{"code": -32603, "message": "x"}, "x", ...],
        "taskId": [TASK_ID, TASK_ID, TASK_ID, "", 5, ...],
        "_meta": [{"x": 1}, ...],
    }
    chosen = random.Random(20260728)
    for status in forms["status"][:5]:
        yield task(status=status, inputRequests={"a": form()}, result={"content": []},
                   error={"code": 1, "message": "x"})  # fmt: skip
    for name, values in forms.items():
        for value in values:
            yield task(**{name: value})
    for _ in range(400):
        yield task(**{name: chosen.choice(values) for name, values in forms.items()})


def test_the_requests_we_build_are_valid() -> None:
    messages = [(name, json.loads(request.body)) for name, request in REQUESTS]
    wrong = [
        (message["method"], verdict["issues"])
        for (_, message), verdict in zip(messages, node.validate(messages), strict=True)
        if not verdict["valid"]
    ]
    assert wrong == []


def test_every_task_that_is_valid_is_read_and_what_is_read_without_a_note_is_valid() -> None:
    corpus = list(_corpus())
    verdicts = node.validate([("GetTaskResultV2Schema", each) for each in corpus])
    accepted = 0
    for content, verdict in zip(corpus, verdicts, strict=True):
        found = read_task(reply(content), TASK_ID)
        if verdict["valid"] and content["taskId"] == TASK_ID:
            accepted += 1
            assert isinstance(found, Task), content
        if isinstance(found, Task) and not TOLERATED.intersection(found.notes):
            assert verdict["valid"], (content, verdict["issues"])
    assert accepted > 20


def test_every_new_task_that_is_valid_is_read() -> None:
    corpus = [each | {"resultType": "task"} for each in _corpus()]
    verdicts = node.validate([("CreateTaskResultV2Schema", each) for each in corpus])
    valid = [each for each, verdict in zip(corpus, verdicts, strict=True) if verdict["valid"]]
    assert len(valid) > 20
    for content in valid:
        found = read_call(reply(content))
        if content["taskId"]:
            assert isinstance(found, TaskCreated), content
            assert found.task.task_id == content["taskId"]
