"""Every row of the table "Servers as they are" (protocol.md) through the whole engine.

For each fault of the simulator: what the operation comes to, and that the work was done exactly
once, or that the desk says that it cannot know (`unknown`).
"""

from typing import Any

import pytest

from mcpdesk.simulator.faults.catalog import FAULTS
from tasks_monitor.states import State
from tests.engine.desk import Desk

pytestmark = pytest.mark.django_db


def names(text: str) -> list[str]:
    return text.split()


#: Read all the same: the call returns its result.
READ = names(
    """
sse sse-crlf sse-cr sse-no-space sse-comments sse-many-lines sse-split sse-strangers
sse-no-blank-line json-bom sse-bom json-charset json-capitals gzip deflate sse-gzip json-split
json-slow id-string numbers-as-floats jsonrpc-missing result-type-missing extension-data
content-unknown content-missing content-not-a-list structured-mismatch hostile-text
updated-always ttl-missing ttl-null ttl-zero ttl-negative ttl-changing poll-missing poll-zero
poll-negative poll-fraction poll-billion poll-text time-offset-zero time-offset time-no-fraction
time-nine-digits time-skewed time-missing time-garbage task-id-other task-id-missing
list-bad-tools list-same-name-twice list-not-a-list list-same-cursor list-endless list-empty-pages
list-cursor-number list-hostile-tools status-missing
"""
)
#: The work was done, and nobody can tell from what came back: unknown, and never sent again.
UNKNOWABLE = names(
    """
json-no-media-type encoding-nobody-asked id-other id-null id-missing result-missing result-array
error-code-text json-garbage json-not-utf8 http-202 http-204 html http-200-empty json-broken
sse-broken sse-ends-without-answer json-silent sse-silent never-answers result-huge json-sized
json-bottomless error-without-message result-and-error
"""
)
#: Refused before any work: unknown all the same, since the desk cannot see that.
UNKNOWABLE_BEFORE_WORK = names(
    """
login-page http-403 http-404-plain http-500 http-502 redirect-302 redirect-other-origin
redirect-other-scheme redirect-loop
"""
)
#: An error, which is read whatever the status says: failed.
ERRORS = names(
    """
error-in-200 error-in-400 error-in-404 error-in-409 error-in-500 error-in-503 internal-error
not-found expired invalid-params method-not-found version-unsupported header-mismatch
"""
)
#: A refused result, or an error after the work was done: failed.
FAILED_AFTER_WORK = names(
    """
result-type-unknown result-type-number result-type-task invalid-params-after-work rounds-empty
"""
)
#: The server looks at the envelope and wants to be asked later: sent again, done once.
LATER = names(
    """
http-429 http-429-seconds http-429-date http-503-seconds http-503-date http-401 redirect-307
redirect-308
"""
)


def called(desk: Desk, fault: str, **more: Any) -> tuple[str, int]:
    """(what a call that meets the fault comes to, how often the work was done)."""
    desk.server.call_timeout_s = 1
    desk.server.save()
    operation = desk.run("misbehave", looks=4, fault=fault, nonce=fault, **more)
    return operation.state, desk.simulator.done(fault)


@pytest.mark.parametrize("fault", READ)
def test_an_odd_answer_is_read_and_the_work_done_once(desk: Desk, fault: str) -> None:
    assert called(desk, fault) == (State.COMPLETED, 1)


@pytest.mark.parametrize("fault", UNKNOWABLE)
def test_an_answer_that_is_none_is_unknown_and_the_call_never_sent_again(
    desk: Desk, fault: str
) -> None:
    assert called(desk, fault) == (State.UNKNOWN, 1)
    assert desk.requests() == 1


@pytest.mark.parametrize("fault", UNKNOWABLE_BEFORE_WORK)
def test_a_refusal_that_says_nothing_is_unknown_too(desk: Desk, fault: str) -> None:
    assert called(desk, fault) == (State.UNKNOWN, 0)


@pytest.mark.parametrize("fault", ERRORS)
def test_an_error_is_read_before_the_status(desk: Desk, fault: str) -> None:
    assert called(desk, fault) == (State.FAILED, 0)


@pytest.mark.parametrize("fault", FAILED_AFTER_WORK)
def test_what_is_no_result_fails_with_a_reason(desk: Desk, fault: str) -> None:
    assert called(desk, fault) == (State.FAILED, 1)


@pytest.mark.parametrize("fault", LATER)
def test_a_server_that_wants_to_be_asked_again_is_and_the_work_done_once(
    desk: Desk, fault: str
) -> None:
    assert called(desk, fault, times=1) == (State.COMPLETED, 1)


@pytest.mark.parametrize(
    ("fault", "questions"),
    [("rounds-too-many-keys", 50), ("input-missing", 0), ("input-empty", 0)],
)
def test_rounds_that_cannot_be_answered_wait_or_are_read(
    desk: Desk, fault: str, questions: int
) -> None:
    operation = desk.run("misbehave", fault=fault, nonce=fault)

    assert len(desk.questions(operation)) == questions
    assert operation.state == (State.INPUT_REQUIRED if questions else State.COMPLETED)


#: A poll that says nothing usable twice, and then the truth: followed to the end.
POLLS = sorted(
    set(FAULTS)
    - {"not-found", "expired", "invalid-params", "invalid-params-after-work"}
    - {"ttl-zero", "ttl-negative", "never-answers", "json-silent", "sse-silent", "result-huge"}
    - {"poll-billion", "time-missing", "json-sized", "redirect-loop"}
)


@pytest.mark.parametrize("fault", POLLS)
def test_a_poll_that_meets_a_fault_twice_gets_there_and_the_work_is_done_once(
    desk: Desk, fault: str
) -> None:
    operation = desk.start(
        "misbehave_task", fault=fault, times=2, duration_ms=0, nonce=fault, seconds=1
    )
    for _ in range(8):
        desk.look(operation)
        if operation.due_at is None:
            break

    assert desk.simulator.done(fault) == 1
    assert operation.state == State.COMPLETED


@pytest.mark.parametrize("fault", ["json-silent", "sse-silent", "never-answers"])
def test_a_poll_that_is_never_answered_is_made_again(desk: Desk, settings: Any, fault: str) -> None:
    settings.ENGINE = {**settings.ENGINE, "POLL_TIMEOUT_S": 0.5}
    operation = desk.start("misbehave_task", fault=fault, times=1, duration_ms=0, nonce=fault)
    desk.settle(operation, looks=5)

    assert (operation.state, desk.simulator.done(fault)) == (State.COMPLETED, 1)


@pytest.mark.parametrize("fault", ["not-found", "expired", "invalid-params"])
def test_not_found_once_is_not_lost(desk: Desk, fault: str) -> None:
    operation = desk.run("misbehave_task", fault=fault, times=1, duration_ms=0, nonce=fault)

    assert (operation.state, desk.simulator.done(fault)) == (State.COMPLETED, 1)


@pytest.mark.parametrize("fault", ["ttl-zero", "ttl-negative"])
def test_a_lifetime_of_nothing_is_polled_once_and_ends(desk: Desk, fault: str) -> None:
    operation = desk.start("misbehave_task", fault=fault, duration_ms=600_000, nonce=fault)
    desk.settle(operation, looks=4)

    assert operation.state == State.EXPIRED
    assert desk.requests("tasks/get") == 1


def test_an_interval_of_a_billion_is_ten_minutes(desk: Desk) -> None:
    operation = desk.start(
        "misbehave_task", fault="poll-billion", duration_ms=600_000, nonce="billion"
    )
    desk.look(operation)
    desk.look(operation)

    assert operation.due_at is not None
    assert (operation.due_at - desk.clock.now).total_seconds() == 600


@pytest.mark.parametrize("fault", ["task-otherwise-invalid", "result-type-unknown-with-task"])
def test_a_handle_is_never_lost(desk: Desk, fault: str) -> None:
    operation = desk.start(
        "misbehave_task", fault=fault, on="tools/call", duration_ms=0, nonce=fault
    )
    desk.settle(operation, looks=5)

    assert operation.has_task
    assert (operation.state, desk.simulator.done(fault)) == (State.COMPLETED, 1)


@pytest.mark.parametrize("fault", ["invalid-params", "internal-error", "http-500", "json-broken"])
def test_an_answer_that_is_refused_is_delivered_in_the_end_and_once(desk: Desk, fault: str) -> None:
    operation = desk.start(
        "misbehave_task",
        fault=fault,
        on="tasks/update",
        times=1,
        asks=True,
        duration_ms=0,
        nonce=fault,
    )
    desk.finish(operation)

    assert (operation.state, desk.simulator.done(fault)) == (State.COMPLETED, 1)
    assert sum(desk.simulator.side_effects()["answers"].values()) == 1


def test_an_update_refused_after_it_was_taken_is_not_sent_again(desk: Desk) -> None:
    fault = "invalid-params-after-work"
    operation = desk.start(
        "misbehave_task", fault=fault, on="tasks/update", asks=True, duration_ms=0, nonce=fault
    )
    desk.finish(operation)

    assert operation.state == State.COMPLETED
    assert desk.requests("tasks/update") == 1


@pytest.mark.parametrize(
    ("fault", "state"), [("invalid-params", State.WORKING), ("http-500", State.CANCELLED)]
)
def test_a_refused_cancellation_says_nothing_of_the_task(
    desk: Desk, fault: str, state: State
) -> None:
    operation = desk.start(
        "misbehave_task", fault=fault, on="tasks/cancel", times=1, duration_ms=600_000, nonce=fault
    )
    desk.drain()
    desk.cancel(operation)
    desk.settle(operation, looks=5)

    assert operation.state == state


def test_every_fault_of_the_simulator_is_in_one_of_these_lists() -> None:
    calls = {*READ, *UNKNOWABLE, *UNKNOWABLE_BEFORE_WORK, *ERRORS, *FAILED_AFTER_WORK, *LATER}
    rounds = {"rounds-too-many-keys", "input-missing", "input-empty", "input-too-many"}
    handles = {"task-otherwise-invalid", "result-type-unknown-with-task", "status-unknown"}
    others = {"error-with-structured", "result-deep"}
    assert set(FAULTS) - calls - rounds - handles - others == set()
