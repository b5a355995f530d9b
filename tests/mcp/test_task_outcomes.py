"""What a reply to `tasks/get`, `tasks/update` and `tasks/cancel` means."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.mcp.limits import MAX_STATUS_MESSAGE_CHARS
from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.outcomes import (
    Acknowledged,
    NoAnswer,
    NotThisTask,
    Rejected,
    TaskMissing,
    read_ack,
    read_task,
)
from mcpdesk.mcp.replies import ErrorReply, ReplyProblem, Unreadable
from mcpdesk.mcp.tasks import Task, TaskStatus, Ttl
from tests.mcp.wire import TASK_ID, form, reply, task

CREATED = datetime(2026, 11, 29, 10, 30, tzinfo=UTC)


def _read(**members: Any) -> Task:
    found = read_task(reply(task(**members)), TASK_ID)
    assert isinstance(found, Task), found
    return found


def test_a_working_task_is_read() -> None:
    found = _read(statusMessage="Step 1")
    assert (found.status, found.status_message) == (TaskStatus.WORKING, "Step 1")
    assert (found.created_at, found.ttl) == (CREATED, Ttl(60_000))
    assert (found.poll_interval_ms, found.notes) == (5_000, ())
    assert not found.is_terminal


@pytest.mark.parametrize(
    ("status", "name"), [("completed", "result"), ("failed", "error"), ("cancelled", None)]
)
def test_an_ended_task_brings_what_belongs_to_its_status(status: str, name: str | None) -> None:
    payload = {"isError": True, "code": -1}
    found = _read(status=status, result=payload, error=payload, inputRequests={"a": form()})
    assert found.is_terminal
    assert found.result == (payload if name == "result" else None)
    assert found.error == (payload if name == "error" else None)
    assert found.input_requests == ()


@pytest.mark.parametrize(
    ("status", "name", "note"),
    [
        ("completed", "result", Note.RESULT_MISSING),
        ("failed", "error", Note.ERROR_MISSING),
        ("input_required", "inputRequests", Note.INPUT_REQUESTS_EMPTY),
    ],
)
@pytest.mark.parametrize("payload", [..., None, "text", [1]])
def test_a_status_without_what_belongs_to_it_counts_all_the_same(
    status: str, name: str, note: Note, payload: Any
) -> None:
    found = _read(status=status, **{name: payload})
    assert found.raw_status == status
    assert found.notes == (note,)


def test_a_task_that_waits_for_nothing_is_noted() -> None:
    found = _read(status="input_required", inputRequests={})
    assert (found.input_requests, found.notes) == ((), (Note.INPUT_REQUESTS_EMPTY,))


@pytest.mark.parametrize("other", ["another", "", None, 5, ..., TASK_ID.upper()])
def test_an_answer_about_another_task_is_refused(other: Any) -> None:
    assert isinstance(read_task(reply(task(taskId=other)), TASK_ID), NotThisTask)


@pytest.mark.parametrize("status", [..., None, 5, {}])
def test_an_answer_without_a_status_changes_nothing(status: Any) -> None:
    assert isinstance(read_task(reply(task(status=status)), TASK_ID), NotThisTask)


def test_an_unknown_status_is_kept_as_a_word_and_noted() -> None:
    found = _read(status="paused" + "x" * 100)
    assert found.status is None
    assert found.raw_status == ("paused" + "x" * 100)[:64]
    assert found.notes == (Note.STATUS_UNKNOWN,)


def test_the_type_task_and_no_type_are_accepted_and_noted() -> None:
    assert _read(resultType="task").notes == (Note.RESULT_TYPE_TASK,)
    assert _read(resultType=...).notes == (Note.RESULT_TYPE_MISSING,)


@pytest.mark.parametrize("kind", ["input_required", "other", None, 5])
def test_any_other_type_of_result_is_no_state_of_a_task(kind: Any) -> None:
    assert isinstance(read_task(reply(task(resultType=kind)), TASK_ID), NotThisTask)


# intervals, lifetimes, times


@pytest.mark.parametrize(
    ("asked", "ms", "notes"),
    [
        (..., None, ()),
        (None, None, ()),
        (1, 1, ()),
        (0, 0, (Note.POLL_INTERVAL_NOT_POSITIVE,)),
        (-5, -5, (Note.POLL_INTERVAL_NOT_POSITIVE,)),
        (1500.0, 1500, (Note.NUMBER_AS_FRACTION,)),
        (1500.2, 1501, (Note.NUMBER_AS_FRACTION,)),
        (10**9, 10**9, (Note.POLL_INTERVAL_TOO_LONG,)),
        ("5000", None, (Note.POLL_INTERVAL_UNREADABLE,)),
        (True, None, (Note.POLL_INTERVAL_UNREADABLE,)),
    ],
)
def test_a_poll_interval_is_what_the_server_asked_for(
    asked: Any, ms: int | None, notes: tuple[Note, ...]
) -> None:
    found = _read(pollIntervalMs=asked)
    assert (found.poll_interval_ms, found.notes) == (ms, notes)


@pytest.mark.parametrize(
    ("value", "ttl"),
    [
        (None, Ttl(None)),
        (..., Ttl(None, Note.TTL_MISSING)),
        ("1000", Ttl(None, Note.TTL_UNREADABLE)),
        (0, Ttl(0, Note.TTL_NOT_POSITIVE)),
        (-1, Ttl(-1, Note.TTL_NOT_POSITIVE)),
        (10**20, Ttl(10**20)),
    ],
)
def test_a_lifetime_is_unlimited_where_none_can_be_read(value: Any, ttl: Ttl) -> None:
    found = _read(ttlMs=value)
    assert found.ttl == ttl
    assert found.notes == ((ttl.note,) if ttl.note else ())


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-29T10:30:00Z",
        "2026-11-29T10:30:00+00:00",
        "2026-11-29T12:00:00+01:30",
        "2026-11-29T02:30:00.000-08:00",
        "2026-11-29T10:30:00.000000000Z",
    ],
)
def test_times_are_compared_as_instants(text: str) -> None:
    found = _read(createdAt=text)
    assert found.created_at == CREATED
    assert found.created_at.utcoffset() == timedelta(0)
    assert found.digest == _read().digest


def test_nine_digits_of_a_second_are_cut_to_six() -> None:
    created = _read(createdAt="2026-11-29T10:30:00.123456789Z").created_at
    assert created == CREATED + timedelta(microseconds=123456)


@pytest.mark.parametrize(
    "value",
    [..., None, 1764412200, "yesterday", "2026-11-29", "2026-11-29T10:30:00", "20261129T103000Z",
     "2026-W48-7T10:30:00Z", "2026-13-29T10:30:00Z", "0001-01-01T00:00:00+14:00", ""],
)  # fmt: skip
def test_a_time_that_cannot_be_read_is_noted(value: Any) -> None:
    found = _read(createdAt=value)
    assert (found.created_at, found.notes) == (None, (Note.TIME_UNREADABLE,))


@pytest.mark.parametrize("value", [5, ["a"], {}])
def test_a_status_message_that_is_no_text_is_noted(value: Any) -> None:
    assert _read(statusMessage=value).notes == (Note.STATUS_MESSAGE_UNREADABLE,)


def test_an_endless_status_message_is_cut() -> None:
    message = _read(statusMessage="x" * 10**6).status_message
    assert message == "x" * MAX_STATUS_MESSAGE_CHARS + " …"
    exact = "x" * MAX_STATUS_MESSAGE_CHARS
    assert _read(statusMessage=exact).status_message == exact


def test_a_status_message_can_be_stored() -> None:
    assert _read(statusMessage="a\x00\ud800").status_message == "a\u2400\ufffd"


# the digest


@pytest.mark.parametrize(
    "members",
    [
        {"lastUpdatedAt": "2026-11-29T11:00:00Z"},
        {"_meta": {"trace": 1}},
        {"pollIntervalMs": 5000.0},
        {"resultType": "task"},
    ],
)
def test_what_is_not_content_does_not_change_the_digest(members: dict[str, Any]) -> None:
    assert _read(**members).digest == _read().digest


CHANGES = [
    {"status": "cancelled"},
    {"status": "odd"},
    {"statusMessage": "Step 2"},
    {"ttlMs": 60_001},
    {"ttlMs": None},
    {"pollIntervalMs": 5_001},
    {"status": "completed", "result": {"content": []}},
    {"status": "completed", "result": {"content": [1]}},
    {"status": "failed", "error": {"code": 1}},
    {"status": "input_required", "inputRequests": {"a": form("x")}},
    {"status": "input_required", "inputRequests": {"a": form("y")}},
    {"status": "input_required", "inputRequests": {"b": form("y")}},
]


def test_whatever_is_content_changes_the_digest() -> None:
    digests = {_read().digest} | {_read(**change).digest for change in CHANGES}
    assert len(digests) == len(CHANGES) + 1


def test_the_order_of_names_is_no_content() -> None:
    one = _read(status="completed", result={"a": 1, "b": 2})
    other = _read(status="completed", result={"b": 2, "a": 1})
    assert one.digest == other.digest


@given(st.text(), st.integers() | st.none())
def test_any_text_and_any_number_has_a_digest(text: str, ttl: int | None) -> None:
    assert len(_read(statusMessage=text, ttlMs=ttl, status=text).digest) == 16


# refusals and acknowledgements


def test_invalid_params_means_that_the_task_is_missing() -> None:
    answer = ErrorReply(-32602, "Not found", None, 400)
    assert read_task(answer, TASK_ID) == TaskMissing(-32602, "Not found")
    assert read_ack(answer) == TaskMissing(-32602, "Not found")


def test_any_other_error_is_a_rejection() -> None:
    answer = ErrorReply(-32021, "Missing capability", {"a": 1}, 400)
    assert read_task(answer, TASK_ID) == Rejected(-32021, "Missing capability", {"a": 1}, 400)
    assert read_ack(answer) == Rejected(-32021, "Missing capability", {"a": 1}, 400)


@pytest.mark.parametrize("status", [429, 503])
def test_an_error_of_a_busy_server_says_nothing_about_the_task(status: int) -> None:
    answer = ErrorReply(-32603, "Busy", None, status)
    for found in (read_task(answer, TASK_ID), read_ack(answer)):
        assert isinstance(found, NoAnswer)
        assert found.reason == ReplyProblem.BUSY


def test_an_unreadable_answer_is_no_answer() -> None:
    answer = Unreadable(ReplyProblem.AUTHORIZATION, "Refused.", 401, "text/html")
    assert read_task(answer, TASK_ID) == NoAnswer("authorization", "Refused.")
    assert read_ack(answer) == NoAnswer("authorization", "Refused.")


def test_an_acknowledgement_is_an_empty_result() -> None:
    assert read_ack(reply({"resultType": "complete"})) == Acknowledged()
    assert read_ack(reply({})) == Acknowledged((Note.RESULT_TYPE_MISSING,))


@pytest.mark.parametrize("kind", ["task", "input_required", None, 5])
def test_any_other_result_is_no_acknowledgement(kind: Any) -> None:
    found = read_ack(reply({"resultType": kind}))
    assert isinstance(found, NoAnswer)
    assert found.reason == ReplyProblem.INVALID_RESULT
