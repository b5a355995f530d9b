"""A desk in one thread: the real engine on a real database, against the real simulator.

Time is the test's: the clock stands still until it is moved, and moves on by itself only to the
moment that the next look is due.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from mcpdesk.accounts.models import Role
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel, Event
from tasks_monitor.engine.answer import answer
from tasks_monitor.engine.drain import drain
from tasks_monitor.engine.network import Network
from tasks_monitor.engine.start import start
from tasks_monitor.models import InputRequest, InputRequestState, Operation, Server
from tests.conftest import SimulatorProcess
from tests.factories import MembershipFactory, ServerFactory

FORM_ACCEPTED = {"action": "accept", "content": {"confirm": True}}


@dataclass(slots=True)
class Clock:
    """A clock that a test moves."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass(slots=True)
class Desk:
    """One team with an operator and one server, and the engine that works for it."""

    server: Server
    actor: Actor
    clock: Clock
    network: Network
    simulator: SimulatorProcess

    def start(self, tool: str, *, repeatable: bool = False, **arguments: Any) -> Operation:
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
        drain(self.network, self.clock)

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
        """Start an operation and look at it until nothing is due any more."""
        return self.settle(self.start(tool, **arguments), looks)

    def settle(self, operation: Operation, looks: int = 30) -> Operation:
        """Look at it until nothing is due, or it waits for a person."""
        for _ in range(looks):
            self.look(operation)
            if operation.due_at is None or self.questions(operation):
                return operation
        return operation

    def questions(self, operation: Operation) -> list[InputRequest]:
        """What the server asks and nobody has answered."""
        return list(operation.input_requests.filter(state=InputRequestState.OPEN))

    def answer_all(self, operation: Operation, response: dict[str, Any] | None = None) -> None:
        """Answer every open question."""
        for question in self.questions(operation):
            answer(
                question.pk,
                response=response or FORM_ACCEPTED,
                actor=self.actor,
                now=self.clock.now,
            )

    def events(self, operation: Operation) -> list[str]:
        """The kinds of event in the operation's timeline."""
        events = Event.objects.filter(operation_id=operation.pk).order_by("id")
        return list(events.values_list("kind", flat=True))

    def requests(self, method: str = "tools/call") -> int:
        """How often the simulator was asked this."""
        return int(self.simulator.get("/requests")["by_method"].get(method, 0))


@pytest.fixture(scope="session")
def engine_network() -> Iterator[Network]:
    engine_network = Network()
    yield engine_network
    engine_network.close()


@pytest.fixture
def desk(db: None, simulator: SimulatorProcess, engine_network: Network) -> Desk:
    """A desk whose server is the simulator."""
    now = timezone.now()
    server = ServerFactory(url=simulator.url, allow_private=True, call_timeout_s=2, created_at=now)
    operator = MembershipFactory(team=server.team, role=Role.OPERATOR)
    actor = Actor(operator.user, operator.user.name, Channel.WEB)
    return Desk(server, actor, Clock(now), engine_network, simulator)
