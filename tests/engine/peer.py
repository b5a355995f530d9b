"""A server inside the test: it says what the test lets it say, and remembers what it was asked.

It stands where the network stands, and what it says goes through the product's own reading.
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mcpdesk.http.client import Failure, FailureKind
from mcpdesk.mcp.outcomes import NoAnswer, read_ack, read_call, read_task
from mcpdesk.mcp.replies import ErrorReply, ResultReply
from tasks_monitor.engine.network import Result
from tasks_monitor.engine.work import Call, Done, Poll, Update, Work
from tasks_monitor.session import Step
from tasks_monitor.transport import Endpoint, Exchange

TASK_ID = "task-0001"
CALL, GET, UPDATE, CANCEL = "tools/call", "tasks/get", "tasks/update", "tasks/cancel"


@dataclass(frozen=True, slots=True)
class Error:
    """A JSON-RPC error as the answer."""

    code: int
    http_status: int = 400


@dataclass(frozen=True, slots=True)
class Nothing:
    """No answer; `sent` False: the connection was refused."""

    sent: bool = True


Said = dict[str, Any] | Error | Nothing
ACK: Said = {"resultType": "complete"}


def finished(**members: Any) -> Said:
    """A final result."""
    return {"resultType": "complete", "content": [{"type": "text", "text": "done"}], **members}


def form(message: str = "Go on?") -> dict[str, Any]:
    """A question with one yes or no."""
    flag = {"type": "boolean"}
    schema = {"type": "object", "properties": {"confirm": flag}, "required": ["confirm"]}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def asking(*keys: str, state: str | None = "state", **more: Any) -> Said:
    """An MRTR round with a form under each key."""
    said: dict[str, Any] = {"resultType": "input_required", **more}
    if keys:
        said["inputRequests"] = {key: form() for key in keys}
    if state is not None:
        said["requestState"] = state
    return said


def task(status: str = "working", **members: Any) -> dict[str, Any]:
    """A state of the task, as `tasks/get` tells it; None leaves a member out."""
    said = {
        "resultType": "complete",
        "taskId": TASK_ID,
        "status": status,
        "createdAt": "2026-11-29T14:00:00Z",
        "lastUpdatedAt": "2026-11-29T14:00:00Z",
        "ttlMs": None,
        "pollIntervalMs": 1000,
        **members,
    }
    return {name: value for name, value in said.items() if value is not ...}


def handle(status: str = "working", **members: Any) -> dict[str, Any]:
    """The answer to a call that became a task."""
    return task(status, **{"resultType": "task", **members})


def waiting(*keys: str, **members: Any) -> dict[str, Any]:
    """A task that asks a form under each key."""
    return task("input_required", inputRequests={key: form() for key in keys}, **members)


def completed(**members: Any) -> dict[str, Any]:
    """A task that is done."""
    return task("completed", result={"content": [], "isError": False}, **members)


class Peer:
    """Answers from a list for each method; the last one is said again and again."""

    def __init__(self) -> None:
        self.script: dict[str, deque[Said]] = defaultdict(deque)
        self.sent: list[Work] = []
        #: While true, answers are held back in `held`: the requests stay on their way.
        self.holds = False
        self.held: list[Done] = []
        self.in_flight = 0
        self._results: list[Result] = []

    def will(self, method: str, *said: Said) -> None:
        """From now on it answers this."""
        self.script[method] = deque(said)

    def submit(self, works: Iterable[tuple[Work, Endpoint]]) -> None:
        for work, _ in works:
            self.sent.append(work)
            done = Done(work, self._answer(work))
            if self.holds:
                self.held.append(done)
            else:
                self._results.append(done)
                self.in_flight += 1

    def collect(self, wait_s: float) -> list[Result]:
        results, self._results, self.in_flight = self._results, [], 0
        return results

    def nudge(self) -> None:
        """Nobody waits here."""

    def asked(self, method: str) -> list[Any]:
        """What came of this method, oldest first."""
        return [work for work in self.sent if method_of(work) == method]

    def answers(self) -> list[dict[str, Any]]:
        """The `inputResponses` that came for the task, oldest first."""
        return [work.input_responses for work in self.asked(UPDATE)]

    def _answer(self, work: Work) -> Step[Any]:
        method = method_of(work)
        said = self.script[method]
        return step(work, said.popleft() if len(said) > 1 else said[0])


def method_of(work: Work) -> str:
    """The method of the request that this work makes."""
    if isinstance(work, Call):
        return CALL
    if isinstance(work, Poll):
        return GET
    return UPDATE if isinstance(work, Update) else CANCEL


def step(work: Work, said: Said) -> Step[Any]:
    """What the session makes of an answer."""
    if isinstance(said, Nothing):
        kind = FailureKind.TIMEOUT if said.sent else FailureKind.REFUSED
        failure = Failure(kind, "Nothing came.", sent=said.sent)
        return Step(NoAnswer(kind, failure.sentence, said.sent), _exchange(None, failure))
    reply: Any = ResultReply(said) if isinstance(said, dict) else _error(said)
    if isinstance(work, Call):
        outcome: Any = read_call(reply)
    elif isinstance(work, Poll):
        outcome = read_task(reply, work.claim.task_id)
    else:
        outcome = read_ack(reply)
    return Step(outcome, _exchange(reply, None))


def _error(said: Error) -> ErrorReply:
    return ErrorReply(said.code, "No.", None, said.http_status)


def _exchange(reply: Any, failure: Failure | None) -> Exchange:
    return Exchange(reply, failure, None, datetime.now(UTC), None)
