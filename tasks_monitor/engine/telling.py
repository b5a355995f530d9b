"""What a change of state says beyond the timeline: alerts to people, announcements to programs.

Called in the transaction of the change, with the operation locked: who is told of an end finds the
result stored, and a change that is not committed is told to nobody.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from django.urls import reverse

from mcpdesk.notify import doorbell, outbox
from mcpdesk.notify.alerts import close_alert, raise_alert
from mcpdesk.notify.models import Topic
from mcpdesk.notify.outbox import About, Notice
from tasks_monitor.models import Operation
from tasks_monitor.outcome import outcome
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State

#: Who comes after waits for it: it leaves at once.
_NO_WAIT: Final = timedelta(0)
_NEEDS: Final = {
    State.LOST: "The server does not know it any more.",
    State.UNKNOWN: "It was sent, and what became of it is not known.",
    State.STUCK: "Its task comes to no end on the server.",
}
_NEVER_SEEN: Final = "The server does not know the task whose id it was given."
_STUCK_CALL: Final = "The server never said how the call ended, and is not called again by itself."


def tell(operation: Operation, before: State, after: State, reason: str, now: datetime) -> None:
    """Say what follows from this change; most changes say nothing and cost nothing."""
    if before in NEEDS_OPERATOR:
        close_alert(operation.team_id, _matter(operation, before), now)
        # what was proposed for it as it was has fallen away (approvals.repair)
        close_alert(operation.team_id, repair(operation), now)
    if after not in TERMINAL and after not in NEEDS_OPERATOR:
        return
    if operation.expected_by is not None and operation.expected_by <= now:
        close_alert(operation.team_id, late(operation), now)
    if after in NEEDS_OPERATOR:
        sentence = f"{_this(operation)}: {after.label.lower()}. {_what_it_needs(operation, after)}"
        place = _place(operation)
        raise_alert(operation.team_id, _matter(operation, after), sentence, now, path=place)
    _announce(operation, before, after, reason, now)


def _what_it_needs(operation: Operation, after: State) -> str:
    if after == State.STUCK and not operation.has_task:
        return _STUCK_CALL
    if after == State.LOST and operation.has_task and not operation.task_was_seen:
        return _NEVER_SEEN
    return _NEEDS[after]


def late(operation: Operation) -> str:
    """The matter that its end did not come when it was expected."""
    return f"late:{operation.pk}"


def repair(operation: Operation) -> str:
    """The matter that somebody proposed what is to become of it, and a second person decides."""
    return f"repair:{operation.pk}"


def out_of_reach(server_id: int) -> str:
    """The matter that a server cannot be reached."""
    return f"unreachable:{server_id}"


def raise_late(operation: Operation, now: datetime) -> None:
    """Its end did not come when it was expected. In the caller's transaction, with it locked."""
    assert operation.expected_by is not None
    sentence = (
        f"{_this(operation)}: its end was expected by {operation.expected_by:%Y-%m-%d %H:%M} UTC, "
        "and has not come."
    )
    raise_alert(operation.team_id, late(operation), sentence, now, path=_place(operation))


def raise_repair(operation: Operation, now: datetime, *, path: str) -> None:
    """A repair waits for a second person, on the page at `path`. In the caller's transaction."""
    sentence = f"{_this(operation)}: a repair is proposed. A second person says yes or no."
    raise_alert(operation.team_id, repair(operation), sentence, now, path=path)


def _announce(
    operation: Operation, before: State, after: State, reason: str, now: datetime
) -> None:
    to = [operation.started_by_id] if operation.started_by_id is not None else []
    if not outbox.is_wanted(operation.team_id, Topic.ENDED, to):
        return
    about = About(operation.team_id, f"ended:{operation.pk}", operation_id=operation.pk)
    notice = _notice(operation, before, after, reason, now)
    outbox.tell(about, notice, to=to, now=now, wait=_NO_WAIT)
    doorbell.ring_on_commit()


def _notice(
    operation: Operation, before: State, after: State, reason: str, now: datetime
) -> Notice:
    """An operation ends once: so `step` is only there for what it can be several times."""
    ended = after in TERMINAL
    event = "operation.reconciled" if before in NEEDS_OPERATOR else "operation.ended"
    return Notice(
        topic=Topic.ENDED,
        event=event if ended else "operation.needs_person",
        subject=f"{_outcome(operation, after)}: {_call(operation)}",
        sentence=f"{reason}.",
        path=_place(operation),
        facts=(
            ("Team", operation.team.name),
            ("Server", operation.server.name),
            ("Tool", operation.tool_name),
            ("Started by", operation.starter),
        ),
        data=_data(operation, after, now),
        step="" if ended else now.isoformat(),
    )


def _data(operation: Operation, after: State, now: datetime) -> dict[str, Any]:
    """What a program needs to go on; the result itself it asks for. Times are UTC."""
    return {
        "outcome": outcome(after, is_error=operation.is_error),
        "state": after.value,
        "is_error": operation.is_error,
        "idempotency_key": operation.api_key,
        "created_at": operation.created_at.isoformat(),
        "changed_at": now.isoformat(),
        "finished_at": now.isoformat() if after in TERMINAL else None,
    }


def _outcome(operation: Operation, after: State) -> str:
    if after == State.COMPLETED and operation.is_error:
        return "The tool reported an error"
    return after.label


def _call(operation: Operation) -> str:
    return f"{operation.server.name}, “{operation.tool_name[:60]}”"


def _this(operation: Operation) -> str:
    """Which call, among others of its tool: the history and ./desk timeline find it by that."""
    return f"{_call(operation)} ({str(operation.pk)[:8]})"


def _matter(operation: Operation, state: State) -> str:
    return f"{state}:{operation.pk}"


def _place(operation: Operation) -> str:
    return reverse("operation", args=[operation.pk])
