"""What a reply to `tools/call` means."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.mcp import outcomes
from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.outcomes import (
    Finished,
    InputRequired,
    InvalidResult,
    NoAnswer,
    Rejected,
    TaskCreated,
    read_call,
)
from mcpdesk.mcp.replies import ErrorReply, ReplyProblem, ResultReply, Unreadable
from mcpdesk.mcp.tasks import TaskStatus
from tests.mcp.wire import TASK_ID, form, reply, task

TEXT = {"type": "text", "text": "done"}


def _call(**result: Any) -> Any:
    return read_call(reply(result))


# results


def test_a_complete_result_is_kept_as_it_came() -> None:
    result = {"resultType": "complete", "content": [TEXT], "isError": False, "unknown": {"x": [1]}}
    assert read_call(reply(result)) == Finished(result, is_error=False)


def test_a_result_without_a_type_is_complete_and_noted() -> None:
    assert _call(content=[TEXT]) == Finished(
        {"content": [TEXT]}, False, (Note.RESULT_TYPE_MISSING,)
    )


def test_an_error_of_the_tool_is_a_result_with_a_flag() -> None:
    found = _call(resultType="complete", content=[TEXT], isError=True)
    assert isinstance(found, Finished)
    assert found.is_error


@pytest.mark.parametrize(
    ("members", "note"),
    [
        ({"content": [{"type": "hologram", "data": 1}]}, Note.CONTENT_UNKNOWN),
        ({"content": [{"type": "text"}]}, Note.CONTENT_UNKNOWN),
        ({"content": ["text"]}, Note.CONTENT_UNKNOWN),
        ({}, Note.CONTENT_MISSING),
        ({"content": "text"}, Note.CONTENT_MISSING),
        ({"content": [], "isError": "yes"}, Note.IS_ERROR_UNREADABLE),
        ({"content": [], "isError": True, "structuredContent": {}}, Note.ERROR_WITH_STRUCTURED),
    ],
)
def test_an_odd_result_is_shown_as_it_is_with_a_note(members: dict[str, Any], note: Note) -> None:
    result = {"resultType": "complete"} | members
    found = read_call(reply(result))
    assert isinstance(found, Finished)
    assert found.result == result
    assert found.notes == (note,)


# rounds


def test_a_round_has_its_questions_and_its_state() -> None:
    found = _call(resultType="input_required", inputRequests={"a": form()}, requestState="s")
    assert isinstance(found, InputRequired)
    assert [asked.key for asked in found.input_requests] == ["a"]
    assert found.request_state == "s"


def test_no_state_and_an_empty_state_are_two_things() -> None:
    none = _call(resultType="input_required", inputRequests={"a": form()})
    empty = _call(resultType="input_required", inputRequests={"a": form()}, requestState="")
    assert (none.request_state, empty.request_state) == (None, "")


def test_a_round_may_have_a_state_only() -> None:
    assert _call(resultType="input_required", requestState="s") == InputRequired((), "s")


def test_a_round_that_asks_nothing_is_noted() -> None:
    found = _call(resultType="input_required", inputRequests={})
    assert found == InputRequired((), None, (Note.INPUT_REQUESTS_EMPTY,))


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"inputRequests": None, "requestState": None},
        {"requestState": 5},
        {"requestState": {"a": 1}, "inputRequests": {"a": {}}},
        {"inputRequests": ["a"]},
        {"inputRequests": "a", "requestState": "s"},
    ],
)
def test_a_round_that_cannot_be_answered_is_refused(members: dict[str, Any]) -> None:
    assert isinstance(_call(resultType="input_required", **members), InvalidResult)


def test_more_than_fifty_questions_are_refused_one_by_one() -> None:
    asked = {f"key{number}": form() for number in range(51)}
    found = _call(resultType="input_required", inputRequests=asked)
    assert found.notes == (Note.INPUT_REQUESTS_TOO_MANY,)
    assert len(found.input_requests) == 50
    assert all(request.problem for request in found.input_requests)


# tasks


def test_a_call_may_become_a_task() -> None:
    found = read_call(reply(task(resultType="task")))
    assert isinstance(found, TaskCreated)
    assert (found.task.task_id, found.task.status) == (TASK_ID, TaskStatus.WORKING)


def test_a_new_task_may_be_finished_already() -> None:
    found = read_call(
        reply(task(resultType="task", status="completed", result={"content": [TEXT]}))
    )
    assert isinstance(found, TaskCreated)
    assert found.task.is_terminal
    assert found.task.result == {"content": [TEXT]}


@pytest.mark.parametrize("status", ["completed", "failed", "input_required"])
def test_what_belongs_to_the_status_of_a_new_task_may_come_later(status: str) -> None:
    found = read_call(reply(task(resultType="task", status=status)))
    assert isinstance(found, TaskCreated)
    assert found.task.notes == ()


def test_a_new_task_may_ask_at_once() -> None:
    found = read_call(
        reply(task(resultType="task", status="input_required", inputRequests={"a": form()}))
    )
    assert isinstance(found, TaskCreated)
    assert [asked.key for asked in found.task.input_requests] == ["a"]


@pytest.mark.parametrize("status", [..., None, 5, []])
def test_a_new_task_without_a_status_is_refused_but_its_handle_is_kept(status: Any) -> None:
    found = read_call(reply(task(resultType="task", status=status)))
    assert isinstance(found, InvalidResult)
    assert (found.task_id, found.result_type) == (TASK_ID, "task")


@pytest.mark.parametrize("task_id", [..., None, "", 5, "x" * 2049, "a\x00b", "\ud800"])
def test_an_id_that_cannot_be_kept_is_none(task_id: Any) -> None:
    found = read_call(reply(task(resultType="task", taskId=task_id)))
    assert isinstance(found, InvalidResult)
    assert found.task_id is None


@pytest.mark.parametrize("kind", ["paused", "", "Task", "COMPLETE", 5, None, {}, True])
def test_an_unknown_type_of_result_is_refused_but_a_handle_in_it_is_kept(kind: Any) -> None:
    found = read_call(reply(task(resultType=kind, secret="s3cret")))
    assert isinstance(found, InvalidResult)
    assert found.task_id == TASK_ID
    assert found.result_type == (kind if isinstance(kind, str) else None)
    assert "s3cret" not in repr(found)


def test_only_the_beginning_of_an_unknown_type_is_kept() -> None:
    found = read_call(reply({"resultType": "x" * 10_000}))
    assert isinstance(found, InvalidResult)
    assert found.result_type == "x" * 64


# refusals


def test_an_error_is_a_rejection_whatever_the_status() -> None:
    answer = ErrorReply(-32603, "Broken\x00", {"a": 1}, 503)
    assert read_call(answer) == Rejected(-32603, "Broken\u2400", {"a": 1}, 503)


def test_no_answer_keeps_the_reason_and_counts_as_sent() -> None:
    answer = Unreadable(ReplyProblem.STREAM_ENDED, "Ended.", 200, "text/event-stream")
    assert read_call(answer) == NoAnswer(ReplyProblem.STREAM_ENDED, "Ended.", sent=True)


# properties

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["resultType", "taskId", "status", "inputRequests", "requestState", "content", "isError",
     "ttlMs", "pollIntervalMs", "createdAt", "result", "error", "tools", "supportedVersions",
     "capabilities", "nextCursor", "statusMessage", "_meta", "method", "params"]
)  # fmt: skip
LIKELY = VALUES | st.sampled_from(
    ["complete", "task", "input_required", "working", "completed", "failed", TASK_ID]
)
OBJECTS = st.dictionaries(
    NAMES, LIKELY | st.dictionaries(NAMES | st.text(max_size=3), LIKELY, max_size=4), max_size=8
)


@given(OBJECTS)
def test_any_object_gives_an_outcome_of_every_request(result: dict[str, Any]) -> None:
    answer = ResultReply(result)
    assert read_call(answer)
    assert outcomes.read_task(answer, TASK_ID)
    assert outcomes.read_ack(answer)
    assert outcomes.read_discover(answer)
    assert outcomes.read_tools_page(answer)


@given(OBJECTS, st.text(min_size=1, max_size=20), st.sampled_from(["task", "paused", "", 7]))
def test_a_usable_handle_is_never_lost(
    result: dict[str, Any], task_id: str, kind: str | int
) -> None:
    if not task_id.isprintable():
        task_id = TASK_ID
    found = read_call(ResultReply(result | {"resultType": kind, "taskId": task_id}))
    if isinstance(found, TaskCreated):
        assert found.task.task_id == task_id
    else:
        assert isinstance(found, InvalidResult)
        assert found.task_id == task_id
