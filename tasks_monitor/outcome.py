"""What an operation came to, in the words of programs: the API and announcements say the same."""

from enum import StrEnum

from tasks_monitor.states import TERMINAL, State


class Outcome(StrEnum):
    """What an operation came to. `tool_error`: it ran, and the tool says that it failed."""

    SUCCEEDED = "succeeded"
    TOOL_ERROR = "tool_error"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DENIED = "denied"
    EXPIRED = "expired"


def outcome(state: State, *, is_error: bool) -> Outcome | None:
    """What an operation in that state came to; None until it has ended."""
    if state not in TERMINAL:
        return None
    if state == State.COMPLETED:
        return Outcome.TOOL_ERROR if is_error else Outcome.SUCCEEDED
    return Outcome(state.value)
