"""Settles a `tools/call`: what its answer makes of the operation."""

import random
from datetime import datetime, timedelta
from typing import Any, Final

from mcpdesk.audit.log import DESK
from mcpdesk.http.client import FailureKind
from mcpdesk.mcp import pacing
from mcpdesk.mcp.outcomes import (
    CallOutcome,
    Finished,
    InputRequired,
    InvalidResult,
    NoAnswer,
    Rejected,
    TaskCreated,
)
from mcpdesk.mcp.replies import ReplyProblem, Unreadable
from mcpdesk.mcp.tasks import Task, TaskStatus
from tasks_monitor.engine import again, traces
from tasks_monitor.engine.apply_task import apply_task, keep_handle, schedule
from tasks_monitor.engine.cancel import cancel_here
from tasks_monitor.engine.questions import sync_round
from tasks_monitor.engine.results import keep_result
from tasks_monitor.engine.rows import lock, may_repeat, move, note
from tasks_monitor.models import (
    Attempt,
    AttemptOutcome,
    Delivery,
    DeliveryState,
    InputRequestSource,
    Operation,
)
from tasks_monitor.session import Step
from tasks_monitor.states import State

MAX_STATE_ONLY_ROUNDS = 20
RETRY_FIRST_S = 1.0
RETRY_LAST_S = 600.0

#: Nothing left, and nothing will: trying again would change nothing.
_HOPELESS: Final = frozenset({FailureKind.BAD_ENDPOINT, FailureKind.BLOCKED_ADDRESS})
_LOGGED: Final[dict[str, str]] = {
    FailureKind.REDIRECT: "The server redirects in a way that is not followed"
}


def settle_call(attempt_id: int, step: Step[CallOutcome], now: datetime) -> None:
    """Apply the answer to an attempt, in the caller's transaction.

    An answer that comes after the lease has run out still counts: the operation is `unknown` then,
    and learns what became of it. Where the operation has moved on, the handle is kept all the same.
    """
    operation_id = Attempt.objects.values_list("operation_id", flat=True).get(pk=attempt_id)
    operation = lock(operation_id)
    attempt = Attempt.objects.select_for_update().get(pk=attempt_id)
    late = attempt.outcome == AttemptOutcome.UNKNOWN
    is_first = late or attempt.outcome == AttemptOutcome.PENDING
    if is_first:
        _close_attempt(attempt, step.outcome, now)
    if _comes_after_all(operation, attempt, step.outcome):
        again.leave(operation, "The answer came after all", DESK, now)
    if is_first and _is_current(operation, attempt, late):
        if attempt.outcome != AttemptOutcome.NOT_SENT:
            _record_answered(operation, attempt, step.outcome, now)
        _apply(operation, attempt, step, now)
        return
    note(
        operation,
        "call.late",
        now,
        attempt=attempt.number,
        outcome=_word(step.outcome),
    )


def _comes_after_all(operation: Operation, attempt: Attempt, outcome: CallOutcome) -> bool:
    """Whether this answers the call that somebody would have sent again for want of an answer."""
    waits = operation.again_from == State.UNKNOWN and operation.attempts_made == attempt.number
    return waits and not isinstance(outcome, NoAnswer)


def _is_current(operation: Operation, attempt: Attempt, late: bool) -> bool:
    expected = State.UNKNOWN if late else State.CALLING
    return operation.state == expected and operation.attempts_made == attempt.number


def _close_attempt(attempt: Attempt, outcome: CallOutcome, now: datetime) -> None:
    attempt.finished_at = now
    attempt.outcome = AttemptOutcome.ANSWERED
    if isinstance(outcome, NoAnswer):
        attempt.outcome = AttemptOutcome.UNKNOWN if outcome.sent else AttemptOutcome.NOT_SENT
        attempt.problem = outcome.sentence[:500]
    attempt.task_id = _task_id_in(outcome)
    attempt.save(update_fields=["finished_at", "outcome", "problem", "task_id"])


def _task_id_in(outcome: CallOutcome) -> str | None:
    if isinstance(outcome, TaskCreated):
        return outcome.task.task_id
    return outcome.task_id if isinstance(outcome, InvalidResult) else None


def _record_answered(
    operation: Operation, attempt: Attempt, outcome: CallOutcome, now: datetime
) -> None:
    note(
        operation,
        "call.answered",
        now,
        attempt=attempt.number,
        outcome=_word(outcome),
        duration_ms=round((now - attempt.sent_at).total_seconds() * 1000),
        code=_code(outcome.code) if isinstance(outcome, Rejected) else None,
    )


_WORDS: Final = {
    Finished: "a result",
    InputRequired: "a question",
    TaskCreated: "a task",
    Rejected: "an error",
    InvalidResult: "a result that cannot be used",
    NoAnswer: "no answer",
}


def _word(outcome: CallOutcome) -> str:
    if isinstance(outcome, InputRequired) and not outcome.input_requests:
        return "a request to call again"
    return _WORDS[type(outcome)]


def _apply(operation: Operation, attempt: Attempt, step: Step[CallOutcome], now: datetime) -> None:
    outcome = step.outcome
    if isinstance(outcome, NoAnswer):
        _no_answer(operation, step, outcome, now)
        return
    if isinstance(outcome, Rejected) and _told_to_wait(step, outcome.http_status):
        _send_later(operation, "The server asked to slow down", now)
        return
    _answers_arrived(operation, attempt, now)
    if isinstance(outcome, Finished):
        _finished(operation, outcome, now)
    elif isinstance(outcome, InputRequired):
        _input_required(operation, outcome, now)
    elif isinstance(outcome, TaskCreated):
        _task_created(operation, outcome, now)
    elif isinstance(outcome, InvalidResult):
        _invalid(operation, outcome, now)
    else:
        _rejected(operation, outcome, now)


def _answers_arrived(operation: Operation, attempt: Attempt, now: datetime) -> None:
    """The server answered the call that carried this round's answers: it has them."""
    for delivery in Delivery.objects.filter(
        input_request__operation=operation,
        input_request__source=InputRequestSource.MRTR,
        input_request__round=attempt.round,
        state=DeliveryState.SENT,
    ):
        delivery.state = DeliveryState.OBSERVED
        delivery.acknowledged_at = delivery.observed_at = now
        delivery.save(update_fields=["state", "acknowledged_at", "observed_at"])
        traces.delivered(operation, delivery, now)
        note(
            operation,
            "answer.observed",
            now,
            question=delivery.input_request_id,
        )


def _finished(operation: Operation, outcome: Finished, now: datetime) -> None:
    keep_result(operation, outcome.result, outcome.notes)
    reason = "The tool reported an error" if outcome.is_error else "The tool returned its result"
    move(operation, State.COMPLETED, now=now, reason=reason, is_error=outcome.is_error)


def _input_required(operation: Operation, outcome: InputRequired, now: datetime) -> None:
    if not outcome.input_requests and outcome.request_state is None:
        reason = "The server asked for input without a question or a state to send back"
        move(operation, State.FAILED, now=now, reason=reason)
        return
    operation.payload.request_state = outcome.request_state
    operation.payload.save(update_fields=["request_state"])
    if operation.cancel_requested_at:
        cancel_here(operation, DESK, now)
    elif outcome.input_requests:
        _ask(operation, outcome, now)
    else:
        _state_only(operation, now)


def _ask(operation: Operation, outcome: InputRequired, now: datetime) -> None:
    round = operation.round + 1
    sync_round(operation, outcome.input_requests, round, now)
    move(
        operation,
        State.INPUT_REQUIRED,
        now=now,
        reason="The server asks before it goes on",
        round=round,
        state_only_rounds=0,
        due_at=None,
        **_NO_LEASE,
    )


def _state_only(operation: Operation, now: datetime) -> None:
    """Nothing is asked: the same call again after a pause, within bounds."""
    repeats = operation.state_only_rounds + 1
    counted = {"round": operation.round + 1, "state_only_rounds": repeats, **_NO_LEASE}
    if repeats > MAX_STATE_ONLY_ROUNDS:
        reason = f"The server asked {MAX_STATE_ONLY_ROUNDS} times to call again, and for nothing"
        move(operation, State.STUCK, now=now, reason=reason, **counted)
        return
    delay = timedelta(milliseconds=pacing.state_only_delay_ms(repeats, _jitter()))
    move(
        operation,
        State.READY,
        now=now,
        reason="The server asks to call again",
        due_at=now + delay,
        **counted,
    )


_NO_LEASE: Final[dict[str, Any]] = {"lease_token": None, "leased_until": None}


def _task_created(operation: Operation, outcome: TaskCreated, now: datetime) -> None:
    task = outcome.task
    keep_handle(operation, task.task_id, now)
    operation.payload.request_state = None
    operation.payload.save(update_fields=["request_state"])
    note(
        operation,
        "task.created",
        now,
        task=operation.task_label,
        status=str(task.status) if task.status else "unknown",
    )
    if _is_whole(task):
        apply_task(operation, task, now)
        return
    # what a handle may leave out (result, error, questions) is asked for at once
    operation.poll_not_before = now
    operation.save()
    move(operation, State.WORKING, now=now, reason="The server made a task of it")
    schedule(operation, now)


def _is_whole(task: Task) -> bool:
    """Whether the handle says all that `tasks/get` would: a CreateTaskResult need not."""
    if task.status is None:
        return False
    needs = {
        TaskStatus.COMPLETED: task.result,
        TaskStatus.FAILED: task.error,
        TaskStatus.INPUT_REQUIRED: task.input_requests,
    }
    return task.status not in needs or bool(needs[task.status])


def _invalid(operation: Operation, outcome: InvalidResult, now: datetime) -> None:
    if outcome.task_id is None:
        move(operation, State.FAILED, now=now, reason=outcome.reason, **_NO_LEASE)
        return
    keep_handle(operation, outcome.task_id, now)
    operation.save(update_fields=["task_id", "task_hash", "task_created_at"])
    reason = "The server's answer cannot be used, but it names a task, which is followed"
    move(operation, State.WORKING, now=now, reason=reason, poll_not_before=now)
    schedule(operation, now)


def _rejected(operation: Operation, outcome: Rejected, now: datetime) -> None:
    operation.payload.error = {
        "code": outcome.code,
        "message": outcome.message,
        "data": outcome.data,
    }
    operation.payload.request_state = None
    operation.payload.save(update_fields=["error", "request_state"])
    move(
        operation,
        State.FAILED,
        now=now,
        reason="The server refused the call with an error",
        code=_code(outcome.code),
        error_code=_code(outcome.code),
    )


def _code(code: int) -> int | None:
    """An error code as a column holds it; what no server should send is only in the payload."""
    return code if abs(code) < 2**53 else None


def _no_answer(
    operation: Operation, step: Step[CallOutcome], outcome: NoAnswer, now: datetime
) -> None:
    if not outcome.sent:
        _not_sent(operation, outcome, now)
    elif _was_turned_away(step):
        _send_later(operation, outcome.sentence, now)
    elif may_repeat(operation):
        _send_later(operation, "No answer came, and this call is safe to repeat", now)
    elif operation.state != State.UNKNOWN:
        # where a server redirects to is its own text: shown, not logged
        reason = _LOGGED.get(outcome.reason, outcome.sentence)
        words = outcome.sentence
        move(operation, State.UNKNOWN, now=now, reason=reason, explanation=words, **_NO_LEASE)


def _not_sent(operation: Operation, outcome: NoAnswer, now: datetime) -> None:
    note(
        operation,
        "call.not_sent",
        now,
        attempt=operation.attempts_made,
        reason=outcome.sentence[:200],
    )
    if outcome.reason in _HOPELESS:
        move(operation, State.FAILED, now=now, reason=outcome.sentence)
        return
    _send_later(operation, outcome.sentence, now)


def _was_turned_away(step: Step[CallOutcome]) -> bool:
    """The server looked at the request's envelope and did not take it in."""
    reply = step.exchange.reply
    if not isinstance(reply, Unreadable):
        return False
    refused_us = reply.reason == ReplyProblem.AUTHORIZATION and reply.http_status == 401
    return refused_us or _told_to_wait(step, reply.http_status)


def _told_to_wait(step: Step[CallOutcome], http_status: int) -> bool:
    """429, or 503 that says when to come back: the call was not taken in."""
    return http_status == 429 or (http_status == 503 and step.exchange.retry_after_s is not None)


def _send_later(operation: Operation, reason: str, now: datetime) -> None:
    """Back to `ready`, with a pause that grows; a cancellation meanwhile ends it here."""
    exponent = min(max(operation.attempts_made - 1, 0), 20)
    seconds = min(RETRY_FIRST_S * 2**exponent, RETRY_LAST_S) * (1 + 0.1 * _jitter())
    Delivery.objects.filter(
        input_request__operation=operation,
        input_request__source=InputRequestSource.MRTR,
        state=DeliveryState.SENT,
    ).update(state=DeliveryState.SAVED)
    due = now + timedelta(seconds=seconds)
    move(operation, State.READY, now=now, reason=reason, due_at=due, **_NO_LEASE)
    if operation.cancel_requested_at:
        cancel_here(operation, DESK, now)


def _jitter() -> float:
    return random.random()  # noqa: S311 - spreads requests, guards nothing
