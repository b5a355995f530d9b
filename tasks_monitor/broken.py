"""What is known, and what is not, of an operation that waits for an operator."""

from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
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
#: So many answered calls in a row still stand one by one.
_FEW: Final = 2


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
        "Whether the task will ever end. The desk goes on checking it, and it goes on when the "
        "server does."
    ),
}
_NEVER_SEEN: Final = (
    "What became of the call. The server does not know the task whose id it was given: the id may "
    "be wrong, or the task gone."
)
_STUCK_CALL: Final = (
    "What the server did. It never said how the call ended; there is no task to check, and the "
    "desk does not call it again by itself."
)
_NOT_CHECKED: Final = (
    "Whether the task will ever end. It was checked for as long as the desk's bounds allow, and is "
    "not checked any more."
)


def not_known(operation: Operation) -> str:
    """The open question, as a sentence; empty where none is open."""
    state = State(operation.state)
    if state == State.LOST and operation.has_task and not operation.task_was_seen:
        return _NEVER_SEEN
    if state == State.STUCK and not operation.has_task:
        return _STUCK_CALL
    if state == State.STUCK and not operation.task_is_checked:
        return _NOT_CHECKED
    return _NOT_KNOWN.get(state, "")


def known(operation: Operation) -> list[Fact]:
    """What the desk knows, oldest first as far as it has a time."""
    if State(operation.state) not in NEEDS_OPERATOR:
        return []
    return [*_calls(operation), *_task(operation), *_questions(operation)]


def _calls(operation: Operation) -> list[Fact]:
    if operation.adopted:
        return [Fact("Another client made the call; this desk was given its task.")]
    latest = operation.attempts.order_by("-number")[:MAX_ATTEMPTS]
    found: list[Fact] = []
    for alike, group in groupby(reversed(latest), key=_outcome):
        attempts = list(group)
        folds = alike == (AttemptOutcome.ANSWERED, "") and len(attempts) > _FEW
        found += [_answered(attempts)] if folds else [_call(attempt) for attempt in attempts]
    return found


_OUTCOMES: Final = {
    AttemptOutcome.PENDING: "was sent",
    AttemptOutcome.ANSWERED: "was sent, and the server answered it",
    AttemptOutcome.NOT_SENT: "did not leave this desk",
    AttemptOutcome.UNKNOWN: "left this desk, and no usable answer came back",
}


def _outcome(attempt: Attempt) -> tuple[str, str]:
    return attempt.outcome, attempt.problem


def _answered(attempts: list[Attempt]) -> Fact:
    """Calls in a row that were answered, and of which there is no more to say."""
    first, last = attempts[0].number, attempts[-1].number
    words = (
        f"Calls {first:,} to {last:,} were sent, and the server answered each. This was the last."
    )
    return Fact(words, attempts[-1].sent_at)


def _call(attempt: Attempt) -> Fact:
    words = f"Call {attempt.number} {_OUTCOMES[AttemptOutcome(attempt.outcome)]}."
    return Fact(words, attempt.sent_at, attempt.problem)


def _task(operation: Operation) -> list[Fact]:
    if not operation.has_task:
        return []
    made = operation.task_created_at
    mark = f"task {operation.task_label} (the desk’s mark of the task, not its id)"
    found = [Fact(f"{_who_made(operation)} {mark}.", made)]
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
    times = "once" if count == 1 else f"{count:,} times"
    answers = "1 answer was taken" if taken == 1 else f"{taken:,} answers were taken"
    are_open = "1 is open" if still_open == 1 else f"{still_open:,} are open"
    words = f"It asked {times}: {answers}, {are_open}."
    return [Fact(words)]
