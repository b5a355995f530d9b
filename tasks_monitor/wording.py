"""The engine's states in a person's words. Pure: rows in, words out."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from tasks_monitor.models import Answerers, InputRequest, InputRequestState, Operation, Server
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State

#: The colour of a state's dot (static/css/desk.css).
TONES: dict[State, str] = {
    State.AWAITING_APPROVAL: "orange",
    State.READY: "blue",
    State.CALLING: "blue",
    State.INPUT_REQUIRED: "orange",
    State.WORKING: "blue",
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.CANCELLED: "grey",
    State.DENIED: "red",
    State.EXPIRED: "grey",
    State.LOST: "yellow",
    State.UNKNOWN: "yellow",
    State.STUCK: "yellow",
}

_APPROVERS = "the team's approvers"


def tone(operation: Operation) -> str:
    """The colour of the operation's dot; a tool's own error is not a success."""
    if operation.state == State.COMPLETED and operation.is_error:
        return "red"
    return TONES[State(operation.state)]


#: States whose sign tells them apart without colour (static/css/watching.css).
_MARKED = TERMINAL | NEEDS_OPERATOR


def mark(operation: Operation) -> str:
    """The sign beside the state; empty while it is on its way. A tool's own error has its own."""
    if operation.state == State.COMPLETED and operation.is_error:
        return "tool-error"
    return str(operation.state) if operation.state in _MARKED else ""


def outcome(operation: Operation) -> str:
    """The state in one or two words; a tool's own error is told apart from `failed`."""
    if operation.state == State.COMPLETED and operation.is_error:
        return "Tool reported an error"
    return str(operation.get_state_display())


def waits_for(operation: Operation, questions: Iterable[InputRequest] = ()) -> str:
    """Who is to answer: by the open items where they are known, else by the operation's rule."""
    names: dict[str, None] = {}
    for question in questions:
        if question.state == InputRequestState.OPEN:
            names.update(dict.fromkeys(_audience(operation, question)))
    return ", ".join(names) or _by_rule(operation)


def _audience(operation: Operation, question: InputRequest) -> list[str]:
    approval = getattr(question, "approval", None)
    if approval is None:
        return [_by_rule(operation)]
    if approval.audience == "people":
        return [str(person) for person in approval.people.all()]
    if approval.audience == "requester":
        return [_starter(operation)]
    return [str(approval.get_audience_display())]


def _by_rule(operation: Operation) -> str:
    return _starter(operation) if operation.questions_to == Answerers.REQUESTER else _APPROVERS


def _starter(operation: Operation) -> str:
    return str(operation.started_by) if operation.started_by else _APPROVERS


def host(server: Server) -> str:
    """Host and port of the server's address, for telling servers apart."""
    try:
        return urlsplit(server.url).netloc or server.url
    except ValueError:
        return server.url
