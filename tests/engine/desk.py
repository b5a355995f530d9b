"""What a test does with a desk: start, work, answer, move the clock, read what was written."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db import connection

from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from tasks_monitor.engine.answer import answer
from tasks_monitor.engine.cancel import request_cancel
from tasks_monitor.engine.drain import drain, settle
from tasks_monitor.engine.start import start
from tasks_monitor.engine.sweep import sweep
from tasks_monitor.models import Delivery, InputRequest, InputRequestState, Operation, Server
from tests.engine.peer import Peer
from tests.simulator.process import SimulatorProcess

FORM_ACCEPTED = {"action": "accept", "content": {"confirm": True}}
LEASE_S = 24 * 3600.0
"""Longer than any lease."""

NetworkT = TypeVar("NetworkT")
ServerT = TypeVar("ServerT")


def spoil(table: str, column: str, pk: object) -> None:
    """Make a sealed value one that no key opens."""
    with connection.cursor() as cursor:
        key = "operation_id" if table == "payload" else "id"
        cursor.execute(
            f"UPDATE tasks_monitor_{table} SET {column} = 'garbage' WHERE {key} = %s", [pk]
        )


@dataclass(slots=True)
class Clock:
    """A clock that a test moves."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass(slots=True)
class _Desk(Generic[NetworkT, ServerT]):
    """One team with an admin and one server, and the engine that works for it."""

    server: Server
    actor: Actor
    clock: Clock
    network: NetworkT
    simulator: ServerT

    def start(self, tool: str = "echo", *, repeatable: bool = False, **arguments: Any) -> Operation:
        """An operation that nobody has worked on yet."""
        return start(
            team_id=self.server.team_id,
            server_id=self.server.pk,
            tool_name=tool,
            arguments=arguments,
            actor=self.actor,
            now=self.clock.now,
            repeatable=repeatable,
        ).operation

    def drain(self) -> None:
        """Everything that is due right now."""
        drain(self.network, self.clock)  # type: ignore[arg-type]

    def sweep(self) -> int:
        return sweep(self.clock.now)

    def look(self, operation: Operation) -> Operation:
        """Move the clock to the operation's next look, work, and read the operation again."""
        operation.refresh_from_db()
        if operation.due_at is not None:
            self.clock.now = max(self.clock.now, operation.due_at, self._free_at())
        self.drain()
        operation.refresh_from_db()
        return operation

    def _free_at(self) -> datetime:
        self.server.refresh_from_db()
        return self.server.not_before or self.clock.now

    def run(self, tool: str, *, looks: int = 30, **arguments: Any) -> Operation:
        """Start an operation and look at it until nothing is due, or it asks somebody."""
        return self.settle(self.start(tool, **arguments), looks)

    def settle(self, operation: Operation, looks: int = 30) -> Operation:
        """Look at it until nothing is due, or it asks somebody."""
        for _ in range(looks):
            self.look(operation)
            if operation.due_at is None or self.questions(operation):
                return operation
        return operation

    def finish(self, operation: Operation, looks: int = 30) -> Operation:
        """Look at it until nothing is due, and accept whatever is asked."""
        for _ in range(looks):
            self.answer_all(operation)
            if self.look(operation).due_at is None and not self.questions(operation):
                return operation
        return operation

    def questions(self, operation: Operation) -> list[InputRequest]:
        """What the server asks and nobody has answered."""
        return list(operation.input_requests.filter(state=InputRequestState.OPEN))

    def answer(self, question: InputRequest, response: dict[str, Any] | None = None) -> Delivery:
        return answer(
            question.pk,
            response=response or FORM_ACCEPTED,
            actor=self.actor,
            now=self.clock.now,
        )

    def answer_all(self, operation: Operation, response: dict[str, Any] | None = None) -> None:
        """Answer every open question."""
        for question in self.questions(operation):
            self.answer(question, response)

    def cancel(self, operation: Operation) -> Operation:
        return request_cancel(operation.pk, actor=self.actor, now=self.clock.now)

    def events(self, operation: Operation) -> list[str]:
        """The kinds of event in the operation's timeline."""
        events = Event.objects.filter(operation_id=operation.pk).order_by("id")
        return list(events.values_list("kind", flat=True))

    def moves(self, operation: Operation) -> list[str]:
        """The states the operation went through, by their labels, after the first one."""
        events = Event.objects.filter(operation_id=operation.pk, kind="operation.moved")
        return [event.data["after"] for event in events.order_by("id")]


class Desk(_Desk[Any, SimulatorProcess]):
    """A desk with the simulator as its server."""

    def requests(self, method: str = "tools/call") -> int:
        """How often the simulator was asked this."""
        return int(self.simulator.requests()["by_method"].get(method, 0))


class ScriptedDesk(_Desk[Peer, Peer]):
    """A desk with a scripted server."""

    @property
    def peer(self) -> Peer:
        return self.network

    def begin(self, operation: Operation) -> Operation:
        """Work while the server holds its answers back: the requests are on their way."""
        self.peer.holds = True
        self.look(operation)
        self.peer.holds = False
        return operation

    def arrive(self, at: int = 0) -> None:
        """One of the answers that were held back comes in."""
        settle([self.peer.held.pop(at)], self.clock)
