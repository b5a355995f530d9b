"""The table "Servers as they are" of docs/protocol.md, met on the simulator over real sockets.

Each of its faults spoils what the server sends: once in answer to a call, once to a poll.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.outcomes import (
    Finished,
    InputRequired,
    InvalidResult,
    LegacyServer,
    NoAnswer,
    NotThisTask,
    Rejected,
    TaskCreated,
    TaskMissing,
    UnsupportedVersion,
)
from mcpdesk.mcp.tasks import Task, TaskStatus
from tasks_monitor.session import Session, ToolList, new_request_id
from tasks_monitor.transport import Endpoint, Transport
from tests.simulator.process import SimulatorProcess

SILENT = {"json-silent", "sse-silent", "never-answers"}
READ = [
    "sse", "sse-crlf", "sse-cr", "sse-no-space", "sse-comments", "sse-many-lines", "sse-split",
    "sse-strangers", "sse-no-blank-line", "json-bom", "sse-bom", "json-charset", "json-capitals",
    "gzip", "deflate", "sse-gzip", "json-split", "id-string", "numbers-as-floats",
    "jsonrpc-missing", "extension-data", "redirect-307", "redirect-308", "result-type-missing",
]  # fmt: skip
NOT_READ = {
    "json-no-media-type": "media_type",
    "encoding-nobody-asked": "encoding",
    "id-other": "wrong_id",
    "id-null": "wrong_id",
    "id-missing": "wrong_id",
    "result-missing": "not_jsonrpc",
    "result-array": "not_jsonrpc",
    "result-and-error": "http_status",
    "error-without-message": "http_status",
    "error-code-text": "http_status",
    "json-garbage": "not_json",
    "json-not-utf8": "not_utf8",
    "http-202": "no_body",
    "http-204": "no_body",
    "html": "media_type",
    "login-page": "media_type",
    "http-200-empty": "no_body",
    "http-401": "authorization",
    "http-403": "authorization",
    "http-404-plain": "http_status",
    "http-500": "http_status",
    "http-502": "http_status",
    "http-429": "busy",
    "http-503-seconds": "busy",
    "redirect-302": "redirect",
    "redirect-other-origin": "redirect",
    "redirect-other-scheme": "redirect",
    "redirect-loop": "redirect",
    "json-broken": "broken",
    "sse-broken": "broken",
    "sse-ends-without-answer": "stream_ended",
    "json-silent": "timeout",
    "sse-silent": "timeout",
    "never-answers": "timeout",
    "json-bottomless": "too_deep",
}
ON_TASKS: dict[str, tuple[Note, ...]] = {
    "poll-missing": (),
    "poll-zero": (Note.POLL_INTERVAL_NOT_POSITIVE,),
    "poll-negative": (Note.POLL_INTERVAL_NOT_POSITIVE,),
    "poll-fraction": (Note.NUMBER_AS_FRACTION,),
    "poll-billion": (Note.POLL_INTERVAL_TOO_LONG,),
    "poll-text": (Note.POLL_INTERVAL_UNREADABLE,),
    "ttl-missing": (Note.TTL_MISSING,),
    "ttl-null": (),
    "ttl-zero": (Note.TTL_NOT_POSITIVE,),
    "ttl-negative": (Note.TTL_NOT_POSITIVE,),
    "time-offset-zero": (),
    "time-offset": (),
    "time-no-fraction": (),
    "time-nine-digits": (),
    "time-missing": (Note.TIME_UNREADABLE,),
    "time-garbage": (Note.TIME_UNREADABLE,),
    "result-type-task": (Note.RESULT_TYPE_TASK,),
    "status-unknown": (Note.STATUS_UNKNOWN,),
    "input-empty": (Note.INPUT_REQUESTS_EMPTY,),
    "input-missing": (Note.INPUT_REQUESTS_EMPTY,),
}


@pytest.fixture(scope="module")
def simulator() -> Iterator[SimulatorProcess]:
    with SimulatorProcess() as process:
        yield process


def converse(url: str, *steps: Any, timeout_s: float = 20.0) -> list[Any]:
    """The outcome of each step: a function from (session, the outcomes before) to a coroutine."""

    async def run() -> list[Any]:
        transport = Transport()
        session = Session(transport, Endpoint("s", url, timeout_s=timeout_s, allow_private=True))
        outcomes: list[Any] = []
        try:
            for step in steps:
                outcomes.append((await step(session, outcomes)).outcome)
        finally:
            await transport.aclose()
        return outcomes

    return asyncio.run(run())


def call(name: str, **arguments: Any) -> Any:
    return lambda session, before: session.call_tool(new_request_id(), name, arguments)


def poll(session: Session, before: list[Any]) -> Any:
    return session.get_task(new_request_id(), before[0].task.task_id)


def _patience(fault: str) -> float:
    """Seconds: nobody waits long for a server that says nothing."""
    return 0.5 if fault in SILENT else 20.0


def called(simulator: SimulatorProcess, fault: str) -> Any:
    step = call("misbehave", fault=fault, times=1)
    return converse(simulator.url, step, timeout_s=_patience(fault))[0]


def polled(simulator: SimulatorProcess, fault: str) -> Any:
    start = call("misbehave_task", fault=fault, times=1, duration_ms=60_000)
    return converse(simulator.url, start, poll, timeout_s=_patience(fault))[1]


@pytest.mark.parametrize("fault", READ)
def test_an_answer_in_an_unusual_form_is_read(simulator: SimulatorProcess, fault: str) -> None:
    assert isinstance(called(simulator, fault), Finished)
    task = polled(simulator, fault)
    assert isinstance(task, Task), task
    assert task.status is TaskStatus.WORKING


@pytest.mark.parametrize("fault", NOT_READ)
def test_an_answer_that_is_none_has_its_reason(simulator: SimulatorProcess, fault: str) -> None:
    for found in (called(simulator, fault), polled(simulator, fault)):
        assert isinstance(found, NoAnswer), found
        assert found.reason == NOT_READ[fault]
        assert found.sent
        assert found.sentence


@pytest.mark.parametrize(
    ("fault", "reason"), [("result-huge", "too_big"), ("result-deep", "too_deep")]
)
def test_a_result_over_the_limits_is_refused_with_a_sentence(
    simulator: SimulatorProcess, fault: str, reason: str
) -> None:
    found = called(simulator, fault)
    assert isinstance(found, NoAnswer)
    assert (found.reason, found.sent) == (reason, True)


@pytest.mark.parametrize("fault", ON_TASKS)
def test_a_task_with_an_oddity_is_read_and_noted(simulator: SimulatorProcess, fault: str) -> None:
    task = polled(simulator, fault)
    assert isinstance(task, Task), task
    assert task.notes == ON_TASKS[fault]


@pytest.mark.parametrize("fault", ["error-in-200", "error-in-400", "error-in-404", "error-in-409",
                                   "error-in-500", "error-in-503", "internal-error"])  # fmt: skip
def test_an_error_is_read_under_any_status(simulator: SimulatorProcess, fault: str) -> None:
    found = called(simulator, fault)
    assert isinstance(found, Rejected), found
    assert found.code < 0


def test_a_stamp_that_always_changes_is_no_change(simulator: SimulatorProcess) -> None:
    start = call("misbehave_task", fault="updated-always", duration_ms=60_000)
    _, first, second = converse(simulator.url, start, poll, poll)
    assert first.last_updated_at != second.last_updated_at
    assert first.digest == second.digest


@pytest.mark.parametrize("fault", ["task-id-other", "task-id-missing", "status-missing",
                                   "result-type-unknown", "result-type-number"])  # fmt: skip
def test_an_answer_that_may_not_change_the_task_does_not(
    simulator: SimulatorProcess, fault: str
) -> None:
    assert isinstance(polled(simulator, fault), NotThisTask)


@pytest.mark.parametrize("fault", ["not-found", "expired"])
def test_a_task_the_server_does_not_know_is_missing(
    simulator: SimulatorProcess, fault: str
) -> None:
    assert isinstance(polled(simulator, fault), TaskMissing)


def test_a_refused_cancellation_says_nothing_about_the_task(simulator: SimulatorProcess) -> None:
    start = call("misbehave_task", fault="invalid-params", on="tasks/cancel", duration_ms=60_000)

    def cancel(session: Session, before: list[Any]) -> Any:
        return session.cancel_task(new_request_id(), before[0].task.task_id)

    _, refused, task = converse(simulator.url, start, cancel, poll)
    assert isinstance(refused, TaskMissing)
    assert task.status is TaskStatus.WORKING


@pytest.mark.parametrize("fault", ["result-type-unknown-with-task", "task-otherwise-invalid"])
def test_the_handle_of_a_task_is_never_lost(simulator: SimulatorProcess, fault: str) -> None:
    start = call("misbehave_task", fault=fault, on="tools/call", duration_ms=60_000)
    (made,) = converse(simulator.url, start)
    handle = made.task.task_id if isinstance(made, TaskCreated) else made.task_id
    assert handle

    def follow(session: Session, before: list[Any]) -> Any:
        return session.get_task(new_request_id(), handle)

    (followed,) = converse(simulator.url, follow)
    assert followed.status is TaskStatus.WORKING


@pytest.mark.parametrize("fault", ["result-type-unknown", "result-type-number"])
def test_a_result_of_an_unknown_type_is_refused(simulator: SimulatorProcess, fault: str) -> None:
    assert isinstance(called(simulator, fault), InvalidResult)


@pytest.mark.parametrize(
    ("fault", "note"),
    [
        ("content-unknown", Note.CONTENT_UNKNOWN),
        ("content-missing", Note.CONTENT_MISSING),
        ("content-not-a-list", Note.CONTENT_MISSING),
        ("error-with-structured", Note.ERROR_WITH_STRUCTURED),
    ],
)
def test_an_odd_result_is_kept_with_a_note(
    simulator: SimulatorProcess, fault: str, note: Note
) -> None:
    found = called(simulator, fault)
    assert isinstance(found, Finished)
    assert note in found.notes


def test_too_many_questions_are_kept_up_to_fifty_and_none_can_be_asked(
    simulator: SimulatorProcess,
) -> None:
    (found,) = converse(simulator.url, call("ask_many", keys=60))
    assert isinstance(found, InputRequired)
    assert len(found.input_requests) == 50
    assert all(asked.problem for asked in found.input_requests)


@pytest.mark.parametrize("question", ["sampling", "roots", "huge", "long-key", "mode-unknown",
                                      "message-missing", "params-list", "null", "not-an-object",
                                      "method-missing", "schema-missing",
                                      "link-missing"])  # fmt: skip
def test_a_question_that_cannot_be_asked_is_kept_with_a_problem(
    simulator: SimulatorProcess, question: str
) -> None:
    (found,) = converse(simulator.url, call("ask_form", question=question))
    assert isinstance(found, InputRequired)
    assert found.request_state
    assert [bool(asked.problem) for asked in found.input_requests] == [True]


@pytest.mark.parametrize("question", ["every-kind", "confirm", "mode-absent", "link", "html",
                                      "bidi", "nested", "empty-key", "odd-key",
                                      "link-not-a-url"])  # fmt: skip
def test_a_question_in_due_form_has_no_problem(simulator: SimulatorProcess, question: str) -> None:
    (found,) = converse(simulator.url, call("ask_form", question=question))
    assert isinstance(found, InputRequired)
    assert [asked.problem for asked in found.input_requests] == [None]


@pytest.mark.parametrize("fault", ["list-bad-tools", "list-same-name-twice"])
def test_the_good_tools_stay_where_others_are_bad(simulator: SimulatorProcess, fault: str) -> None:
    url = f"{simulator.url}?fault={fault}&on=tools/list"
    (found,) = converse(url, lambda session, before: session.list_tools())
    assert isinstance(found, ToolList)
    assert found.tools
    assert found.rejected


@pytest.mark.parametrize("fault", ["list-same-cursor", "list-endless", "list-empty-pages"])
def test_a_list_without_end_ends(simulator: SimulatorProcess, fault: str) -> None:
    url = f"{simulator.url}?fault={fault}&on=tools/list"
    (found,) = converse(url, lambda session, before: session.list_tools())
    assert isinstance(found, ToolList)
    assert found.problem


def test_a_version_the_server_does_not_have_is_told(simulator: SimulatorProcess) -> None:
    url = f"{simulator.url}?fault=version-unsupported"
    (found,) = converse(url, lambda session, before: session.discover())
    assert isinstance(found, UnsupportedVersion)
    assert found.supported


def test_a_legacy_server_is_recognised() -> None:
    with SimulatorProcess("--legacy") as legacy:
        (found,) = converse(legacy.url, lambda session, before: session.discover())
    assert isinstance(found, LegacyServer)


@pytest.mark.parametrize("fault", ["http-429-seconds", "http-429-date", "http-503-date"])
def test_a_busy_server_says_how_long_to_wait(simulator: SimulatorProcess, fault: str) -> None:
    async def ask(url: str) -> float | None:
        transport = Transport()
        session = Session(transport, Endpoint("s", url, allow_private=True))
        step = await session.call_tool(
            new_request_id(), "misbehave", {"fault": fault, "seconds": 9}
        )
        await transport.aclose()
        return step.exchange.retry_after_s

    wait = asyncio.run(ask(simulator.url))
    assert wait is not None
    assert 7 <= wait <= 9
