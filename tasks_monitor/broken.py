"""What is known, and what is not, of an operation that waits for an operator."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tasks_monitor.engine.reconcile import Choice
from tasks_monitor.models import (
    Attempt,
    AttemptOutcome,
    Delivery,
    DeliveryState,
    InputRequestState,
    Operation,
    RepairState,
    hash_task_id,
)
from tasks_monitor.states import NEEDS_OPERATOR, State

MAX_ATTEMPTS: Final = 20


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing the desk knows. `at` (UTC): when it came to be so; `more`: what went wrong."""

    words: str
    at: datetime | None = None
    more: str = ""


_NOT_KNOWN: Final = {
    State.UNKNOWN: (
        "Whether the server carried the call out. It left this desk, and no usable answer came "
        "back: it may have been done, done in part, or never arrived."
    ),
    State.LOST: (
        "What became of the task. The server does not know it any more: it may have finished and "
        "been cleared away, or been lost with the server's memory."
    ),
    State.STUCK: (
        "Whether the task will ever move. The server keeps saying the same, and nothing that the "
        "desk can do by itself changes that."
    ),
}


def not_known(operation: Operation) -> str:
    """The open question, as a sentence; empty where none is open."""
    return _NOT_KNOWN.get(State(operation.state), "")


def known(operation: Operation) -> list[Fact]:
    """What the desk knows, oldest first as far as it has a time."""
    if State(operation.state) not in NEEDS_OPERATOR:
        return []
    return [*_calls(operation), *_task(operation), *_questions(operation)]


def _calls(operation: Operation) -> list[Fact]:
    if operation.adopted:
        return [Fact("Another client made the call; this desk was given its task.")]
    latest = operation.attempts.order_by("-number")[:MAX_ATTEMPTS]
    return [_call(attempt) for attempt in reversed(latest)]


_OUTCOMES: Final = {
    AttemptOutcome.PENDING: "was sent",
    AttemptOutcome.ANSWERED: "was sent, and the server answered it",
    AttemptOutcome.NOT_SENT: "did not leave this desk",
    AttemptOutcome.UNKNOWN: "left this desk, and no usable answer came back",
}


def _call(attempt: Attempt) -> Fact:
    words = f"Call {attempt.number} {_OUTCOMES[AttemptOutcome(attempt.outcome)]}."
    return Fact(words, attempt.sent_at, attempt.problem)


def _task(operation: Operation) -> list[Fact]:
    if not operation.has_task:
        return []
    made = operation.task_created_at
    found = [Fact(f"{_who_made(operation)} task {operation.task_label}.", made)]
    if operation.last_changed_at and (made is None or operation.last_changed_at >= made):
        found.append(Fact("The task last said something new.", operation.last_changed_at))
    if operation.last_polled_at:
        times = "once" if operation.polls == 1 else f"{operation.polls:,} times"
        found.append(
            Fact(f"It was looked at {times}; this was the last.", operation.last_polled_at)
        )
    if operation.expires_at:
        found.append(Fact("Until then the server meant to keep it.", operation.expires_at))
    return found


def _who_made(operation: Operation) -> str:
    """A task that somebody attached was perhaps never made by this call, or by that server."""
    done = operation.repairs.filter(state=RepairState.DONE, choice=Choice.ATTACH_TASK)
    attached = {hash_task_id(repair.content["task_id"]) for repair in done}
    return "A person attached" if operation.task_hash in attached else "The server made"


def _questions(operation: Operation) -> list[Fact]:
    asked = operation.input_requests
    count = asked.count()
    if not count:
        return []
    deliveries = Delivery.objects.filter(input_request__operation=operation)
    taken = deliveries.filter(state=DeliveryState.OBSERVED).count()
    still_open = asked.filter(state=InputRequestState.OPEN).count()
    words = f"It asked {count:,} times: {taken:,} answers were taken, {still_open:,} are open."
    return [Fact(words)]
