"""The operation's states and the one table of allowed transitions (domain.md)."""

from typing import Final

from django.db.models import TextChoices


class State(TextChoices):
    """Where an operation is; labels are what people read."""

    AWAITING_APPROVAL = "awaiting_approval", "Awaiting approval"
    READY = "ready", "Ready to be sent"
    CALLING = "calling", "Calling"
    INPUT_REQUIRED = "input_required", "Waiting for input"
    WORKING = "working", "Running"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    DENIED = "denied", "Denied"
    EXPIRED = "expired", "Expired"
    LOST = "lost", "Lost"
    UNKNOWN = "unknown", "Outcome unknown"
    STUCK = "stuck", "Stuck"


class TransitionRefused(Exception):
    """A pair of states that the table does not hold."""

    def __init__(self, before: State, after: State) -> None:
        super().__init__(f"an operation never goes from {before} to {after}")
        self.before = before
        self.after = after


# What a server can say of a task it knows.
_SERVER_SAYS: Final = frozenset(
    {
        State.WORKING,
        State.INPUT_REQUIRED,
        State.COMPLETED,
        State.FAILED,
        State.CANCELLED,
        State.EXPIRED,
    }
)

#: States that an operator reconciles: nothing moves by itself.
NEEDS_OPERATOR: Final = frozenset({State.LOST, State.UNKNOWN, State.STUCK})
# An operator has the call sent again: at once, or past the gate once more.
_SENT_AGAIN: Final = frozenset({State.READY, State.AWAITING_APPROVAL})

TRANSITIONS: Final[dict[State, frozenset[State]]] = {
    # NEEDS_OPERATOR: a call that was to be sent again is not, and all is as it was (engine.again)
    State.AWAITING_APPROVAL: frozenset({State.READY, State.DENIED, State.EXPIRED, State.CANCELLED})
    | NEEDS_OPERATOR,
    # FAILED: what is known before sending (no such server any more, a legacy server)
    State.READY: frozenset({State.CALLING, State.CANCELLED, State.EXPIRED, State.FAILED}),
    # READY: nothing left (connection refused, told to slow down), or a round without questions
    State.CALLING: _SERVER_SAYS | {State.READY, State.UNKNOWN, State.STUCK},
    # READY: an MRTR round is complete, the same call goes out again
    State.INPUT_REQUIRED: (_SERVER_SAYS - {State.INPUT_REQUIRED})
    | {State.READY, State.LOST, State.STUCK},
    State.WORKING: (_SERVER_SAYS - {State.WORKING}) | {State.LOST, State.STUCK},
    # the server moved after all, or an operator decided
    State.STUCK: _SERVER_SAYS | _SENT_AGAIN | {State.LOST},
    State.LOST: _SERVER_SAYS | _SENT_AGAIN,
    # a late answer to the call whose outcome was unknown, or an operator decided
    State.UNKNOWN: _SERVER_SAYS | _SENT_AGAIN,
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
    State.DENIED: frozenset(),
    State.EXPIRED: frozenset(),
}

TERMINAL: Final = frozenset(state for state, targets in TRANSITIONS.items() if not targets)
#: States in which a known remote task is polled. STUCK is: the server may move after all.
POLLED: Final = frozenset({State.WORKING, State.INPUT_REQUIRED, State.STUCK})


def check(before: State, after: State) -> None:
    """Raise TransitionRefused unless the table holds this pair."""
    if after not in TRANSITIONS[before]:
        raise TransitionRefused(before, after)
