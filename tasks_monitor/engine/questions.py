"""Keeps the questions of an operation in step with what the server asks.

A key seen again is the same question. A key whose content changed is a new question, and no
decision carries over. A key that went away unanswered was withdrawn.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from mcpdesk.mcp import inputs
from mcpdesk.mcp.elicitation import UrlElicitation, read_params
from tasks_monitor.engine import traces, words
from tasks_monitor.engine.rows import close_question, note
from tasks_monitor.models import (
    Delivery,
    DeliveryState,
    InputRequest,
    InputRequestSource,
    InputRequestState,
    Operation,
)
from tasks_monitor.signals import tell_input_requests_changed

#: After this many polls with the key still there since the acknowledgement, the answer may be lost.
OUTSTANDING_POLLS = 3
#: Deliveries that still wait for the server to do something.
_UNDER_WAY = frozenset(
    {
        DeliveryState.SAVED,
        DeliveryState.SENT,
        DeliveryState.ACKNOWLEDGED,
        DeliveryState.IGNORED,
    }
)
#: A task that asks more than this asks without end: each is an item, events and a notification.
MAX_QUESTIONS = 500
#: The identical answer goes out at most this often by itself; then an operator looks.
MAX_TIMES_SENT = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one list of input requests.

    `refused` counts questions that were not taken in; `without_end`: none is any more.
    """

    new: int
    ignored: int
    refused: int
    without_end: bool


def sync_round(
    operation: Operation, asked: Iterable[inputs.InputRequest], round: int, now: datetime
) -> None:
    """Open every question of a new MRTR round."""
    for request in asked:
        _open(operation, request, InputRequestSource.MRTR, round, 1, now)


def sync_task(operation: Operation, asked: Iterable[inputs.InputRequest], now: datetime) -> Asked:
    """Open, keep, replace and withdraw a task's questions; follow the answers it was sent."""
    known_questions = _questions(operation)
    latest = {question.key_hash: question for question in known_questions}
    room = MAX_QUESTIONS - len(known_questions)
    new = ignored = refused = 0
    seen = set()
    for request in asked:
        key_hash = hash_key(request.key)
        seen.add(key_hash)
        known = latest.get(key_hash)
        if known is not None and _is_same(known, request):
            ignored += _still_asked(operation, known, now)
        else:
            _supersede(operation, known, now)
            if new >= room:
                refused += 1
                continue
            revision = known.revision + 1 if known else 1
            _open(operation, request, InputRequestSource.TASK, 0, revision, now)
            new += 1
    for key_hash, known in latest.items():
        if key_hash not in seen:
            _no_longer_asked(operation, known, now)
    return Asked(new, ignored, refused, without_end=new >= room)


def hash_key(key: str) -> str:
    """SHA-256 (hex) of a key, which may hold what PostgreSQL's text does not."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _questions(operation: Operation) -> list[InputRequest]:
    """All questions of the task, the latest revision of each last. What they say stays closed."""
    return list(
        operation.input_requests.select_for_update(of=("self",))
        .select_related("delivery")
        .defer("params", "key", "delivery__response")
        .filter(source=InputRequestSource.TASK)
        .order_by("revision")
    )


def _is_same(known: InputRequest, request: inputs.InputRequest) -> bool:
    """The same question, unless it was over: taken back, or of a task that was given up."""
    over = {InputRequestState.WITHDRAWN, InputRequestState.CLOSED}
    return known.fingerprint == request.fingerprint and known.state not in over


def _open(
    operation: Operation,
    request: inputs.InputRequest,
    source: InputRequestSource,
    round: int,
    revision: int,
    now: datetime,
) -> None:
    question = InputRequest.objects.create(
        operation=operation,
        source=source,
        round=round,
        key_hash=hash_key(request.key),
        key=request.key,
        revision=revision,
        method=_column(request.method),
        params=request.params,
        fingerprint=request.fingerprint,
        problem=(request.problem or "")[:500],
        opened_at=now,
    )
    words.say(operation, words.message_of(question.params))
    tell_input_requests_changed(operation.pk)
    _record_opened(operation, question, now)


def _column(method: str) -> str:
    """A method's name as PostgreSQL's text takes it; real ones are short and plain."""
    return method[:100].encode("ascii", "replace").decode().replace("\x00", "?")


def _record_opened(operation: Operation, question: InputRequest, now: datetime) -> None:
    if question.problem:
        method = question.method
        note(operation, "question.undeclared", now, question=question.pk, method=method)
        return
    mode = "link" if isinstance(read_params(question.params), UrlElicitation) else "form"
    note(operation, "question.opened", now, question=question.pk, mode=mode, round=question.round)


def _supersede(operation: Operation, known: InputRequest | None, now: datetime) -> None:
    """The same key asks something else: the old question is over, whatever was said to it."""
    if known is None:
        return
    if known.state == InputRequestState.OPEN:
        close_question(operation, known, InputRequestState.SUPERSEDED, now)
    delivery = delivery_of(known)
    if delivery is not None and delivery.state in _UNDER_WAY:
        sent = "after" if delivery.times_sent else "before"
        delivery.state = DeliveryState.NOT_NEEDED
        delivery.problem = f"The server changed the question {sent} the answer was sent."
        delivery.save(update_fields=["state", "problem"])


def delivery_of(question: InputRequest) -> Delivery | None:
    """The answer on its way for this question, if it was answered."""
    return getattr(question, "delivery", None)


def _still_asked(operation: Operation, question: InputRequest, now: datetime) -> int:
    """Follow an answered key that is still there; 1 when the server seems to ignore the answer."""
    delivery = delivery_of(question)
    if delivery is None or delivery.state in {DeliveryState.SAVED, DeliveryState.IGNORED}:
        return int(delivery is not None and delivery.state == DeliveryState.IGNORED)
    if delivery.state == DeliveryState.SENT:
        # never acknowledged and still asked: the identical answer again
        return _send_again(operation, delivery, now)
    delivery.outstanding_polls += 1
    if delivery.outstanding_polls < OUTSTANDING_POLLS:
        delivery.save(update_fields=["outstanding_polls"])
        return 0
    return _send_again(operation, delivery, now)


def _send_again(operation: Operation, delivery: Delivery, now: datetime) -> int:
    lost = delivery.times_sent >= MAX_TIMES_SENT and delivery.acknowledged_at is not None
    delivery.state = DeliveryState.IGNORED if lost else DeliveryState.SAVED
    delivery.outstanding_polls = 0
    delivery.problem = "The server keeps asking: it may have dropped the answer."
    delivery.save(update_fields=["state", "outstanding_polls", "problem"])
    note(
        operation,
        "answer.ignored",
        now,
        question=delivery.input_request_id,
        count=delivery.times_sent,
    )
    return int(lost)


def _no_longer_asked(operation: Operation, question: InputRequest, now: datetime) -> None:
    if question.state == InputRequestState.OPEN:
        close_question(operation, question, InputRequestState.WITHDRAWN, now)
    delivery = delivery_of(question)
    if delivery is not None:
        settle_delivery(operation, delivery, now)


def settle_delivery(operation: Operation, delivery: Delivery, now: datetime) -> None:
    """The key left: a sent answer was taken, a saved one is not needed any more."""
    if delivery.state == DeliveryState.SAVED and delivery.times_sent == 0:
        delivery.state = DeliveryState.NOT_NEEDED
        delivery.problem = "The server stopped asking before the answer was sent."
        delivery.save(update_fields=["state", "problem"])
        return
    if delivery.state in {DeliveryState.OBSERVED, DeliveryState.NOT_NEEDED}:
        return
    delivery.state = DeliveryState.OBSERVED
    delivery.observed_at = now
    delivery.problem = ""
    delivery.save(update_fields=["state", "observed_at", "problem"])
    traces.delivered(operation, delivery, now)
    note(
        operation,
        "answer.observed",
        now,
        question=delivery.input_request_id,
    )


def give_up_task_questions(operation: Operation, now: datetime) -> None:
    """The task is given up for another one: none of its questions and answers count for that."""
    questions = operation.input_requests.filter(source=InputRequestSource.TASK)
    for question in questions.select_for_update().filter(state=InputRequestState.OPEN):
        close_question(operation, question, InputRequestState.CLOSED, now)
    questions.exclude(state__in=[InputRequestState.WITHDRAWN, InputRequestState.SUPERSEDED]).update(
        state=InputRequestState.CLOSED
    )
    Delivery.objects.filter(input_request__in=questions, state__in=_UNDER_WAY).update(
        state=DeliveryState.NOT_NEEDED, problem="The task that asked was given up."
    )


def settle_all_deliveries(operation: Operation, now: datetime) -> None:
    """The task ended: no key is outstanding any more."""
    for question in {each.key_hash: each for each in _questions(operation)}.values():
        delivery = delivery_of(question)
        if delivery is not None:
            settle_delivery(operation, delivery, now)
