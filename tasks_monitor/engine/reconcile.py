"""Reconcile: an operator says what became of an operation that the desk cannot follow."""

from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.db import transaction

from mcpdesk.accounts.models import User
from mcpdesk.audit.log import Actor
from mcpdesk.mcp.jsontext import storable
from tasks_monitor.engine import again
from tasks_monitor.engine.adopt import be_alone_at, check_task_id, followed
from tasks_monitor.engine.doorbell import ring_on_commit
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.questions import give_up_task_questions
from tasks_monitor.engine.rows import lock, move, note
from tasks_monitor.models import Operation, Payload, hash_task_id
from tasks_monitor.states import NEEDS_OPERATOR, State

#: What a reason, and the evidence, can be long.
MAX_CHARS: Final = 2000


class Choice(StrEnum):
    SEND_AGAIN = "send_again"
    ATTACH_TASK = "attach_task"
    RECORD_DONE = "record_done"
    RECORD_FAILED = "record_failed"


IN_WORDS = {
    Choice.SEND_AGAIN: "send the call again",
    Choice.ATTACH_TASK: "follow another task",
    Choice.RECORD_DONE: "record it as done",
    Choice.RECORD_FAILED: "record it as failed",
}


_DID: Final = {
    Choice.RECORD_DONE: "recorded it as done",
    Choice.RECORD_FAILED: "recorded it as failed",
}


class Followed(Refused):
    """The task is `operation`'s already, on the same server and so of the same team."""

    def __init__(self, operation: Operation) -> None:
        super().__init__("Another operation of this desk follows that task.")
        self.operation = operation


@transaction.atomic
def reconcile(
    operation_id: UUID,
    *,
    choice: Choice,
    reason: str,
    actor: Actor,
    now: datetime,
    proposed_by: User | None = None,
    task_id: str | None = None,
    evidence: str = "",
    asks_first: bool = False,
) -> Operation:
    """Carry out what an operator decided. `reason` is required; `task_id` for ATTACH_TASK,
    `evidence` (what was seen that shows it) for RECORD_DONE. `proposed_by`: who wrote reason
    and evidence, where the actor agreed to them; None: the actor did.

    SEND_AGAIN makes a new attempt of the same call: its side effects may happen twice, which is
    why only a person can choose it. `asks_first`: it waits at the gate before. Raises Refused.
    """
    operation = lock(operation_id)
    check(operation, choice, reason, evidence, task_id)
    note(
        operation,
        "operation.reconciled",
        now,
        actor,
        choice=IN_WORDS[choice],
    )
    decision = {
        "at": now.isoformat(),
        "by": actor.name,
        "choice": IN_WORDS[choice],
        "reason": reason.strip(),
    }
    more = {"evidence": evidence.strip(), "proposed_by": str(proposed_by or "")}
    _keep(operation, decision | {name: text for name, text in more.items() if text})
    # no name: the log keeps names apart, so that a person can be erased
    words = f"a person decided to {IN_WORDS[choice]}"
    if choice == Choice.SEND_AGAIN:
        do = again.ask_first if asks_first else again.send
        do(operation, words, actor, now, asked_by=proposed_by or actor.user)
    elif choice == Choice.ATTACH_TASK:
        _attach(operation, task_id or "", words, actor, now)
    else:
        said = f"{_who_did(choice, actor, proposed_by)}: {reason.strip()}"
        _record(operation, choice, words, said, actor, now)
    return operation


def check(
    operation: Operation, choice: Choice, reason: str, evidence: str, task_id: str | None
) -> None:
    """Refuse what cannot be carried out on this operation, locked by the caller, as it is now."""
    if State(operation.state) not in NEEDS_OPERATOR:
        raise Refused("Only lost, stuck and unknown operations are reconciled.")
    if not reason.strip() or not storable(reason):
        raise Refused("Say why: the reason stays in the operation's explanation.")
    if choice == Choice.RECORD_DONE and not evidence.strip():
        raise Refused("Say what shows that it was done: a link, an id, what you saw there.")
    if max(len(reason), len(evidence)) > MAX_CHARS or not storable(evidence):
        raise Refused(f"Reason and evidence have at most {MAX_CHARS} characters of text each.")
    if choice == Choice.SEND_AGAIN and operation.adopted:
        raise Refused(again.NOT_OURS)
    if choice == Choice.ATTACH_TASK:
        _check_task(operation, task_id or "")


def _check_task(operation: Operation, task_id: str) -> None:
    check_task_id(task_id)
    be_alone_at(operation.server)
    other = followed(operation.server, task_id)
    if other is not None and other.pk != operation.pk:
        raise Followed(other)


def _keep(operation: Operation, decision: dict[str, str]) -> None:
    """Keep the decision: its reason is a person's own text, so beside the log and not in it."""
    payload = operation.payload
    payload.decisions = [*(payload.decisions or []), decision]
    payload.save(update_fields=["decisions"])


def _who_did(choice: Choice, actor: Actor, proposed_by: User | None) -> str:
    did = f"{proposed_by or actor.name} {_DID[choice]}"
    return f"{did}, and {actor.name} agreed" if proposed_by else did


def _record(
    operation: Operation, choice: Choice, words: str, said: str, actor: Actor, now: datetime
) -> None:
    after = State.COMPLETED if choice == Choice.RECORD_DONE else State.FAILED
    # the reason is a person's own text: on the operation, not in the log
    move(operation, after, now=now, actor=actor, reason=words, explanation=said)


def _attach(operation: Operation, task_id: str, words: str, actor: Actor, now: datetime) -> None:
    give_up_task_questions(operation, now)
    # what the server last said was about another task
    Payload.objects.filter(pk=operation.pk).update(status_message=None)
    task = {"task_id": task_id, "task_hash": hash_task_id(task_id), "task_created_at": now}
    fresh = {**again.NO_TASK, **task, "due_at": now}
    move(operation, State.WORKING, now=now, actor=actor, reason=words, **fresh)
    ring_on_commit(operation.pk)
