"""What one made-up operation went through, drawn by chance with believable odds."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from mcpdesk.accounts.models import User
from mcpdesk.web.made.team import Cast, reason
from tasks_monitor.models import Server
from tasks_monitor.states import TERMINAL, State

#: Of a hundred operations so many end in each way; the last few of all have not ended.
_ENDS: Final = {
    State.COMPLETED: 840,
    State.FAILED: 60,
    State.CANCELLED: 30,
    State.DENIED: 35,
    State.EXPIRED: 25,
    State.LOST: 5,
    State.UNKNOWN: 3,
    State.STUCK: 2,
}
_OPEN: Final = (State.WORKING, State.INPUT_REQUIRED, State.AWAITING_APPROVAL)
_MESSAGES: Final = (
    "Replace version {n} of api on production?",
    "Which of the {n} rows shall be kept?",
    "Confirm the refund of order {n}",
    "The cluster has {n} nodes; drain them first?",
)
_WHY: Final = (
    "agreed with the release captain",
    "looks right to me",
    "not during the sale",
    "wrong region, start it again",
    "",
)


@dataclass(slots=True)
class Story:
    """One operation from its beginning to its end; times are aware UTC, durations in ms."""

    pk: UUID
    server: Server
    tool: str
    starter: User | None
    reason: str
    state: State
    is_error: bool
    began: datetime
    people_ms: int
    server_ms: int
    has_gate: bool
    question: str
    decider: User
    why: str

    @property
    def ended(self) -> datetime | None:
        return self.moved if self.state in TERMINAL else None

    @property
    def moved(self) -> datetime:
        """When it came to the state it is in."""
        return self.began + timedelta(milliseconds=self.people_ms + self.server_ms)

    @property
    def decided(self) -> datetime:
        """When people had decided what was put to them."""
        return self.began + timedelta(milliseconds=self.people_ms)

    @property
    def waits(self) -> bool:
        """Whether people are still asked."""
        return self.state in (State.AWAITING_APPROVAL, State.INPUT_REQUIRED)


def draw(chance: random.Random, cast: Cast, began: datetime, *, is_open: bool) -> Story:
    """The next operation, begun at that moment."""
    server, tool = _favourite(chance, cast.tools)
    state = chance.choice(_OPEN) if is_open else _end(chance)
    gated = state in (State.DENIED, State.AWAITING_APPROVAL) or chance.random() < 0.45
    asked = state == State.INPUT_REQUIRED or (state != State.DENIED and chance.random() < 0.2)
    return Story(
        pk=UUID(int=chance.getrandbits(128), version=4),
        server=server,
        tool=tool,
        starter=_favourite(chance, cast.people) if chance.random() < 0.9 else None,
        reason=reason(chance),
        state=state,
        is_error=state == State.COMPLETED and chance.random() < 0.07,
        began=began,
        people_ms=_lasting(chance, 11.5) if gated or asked else 0,
        server_ms=0 if state in (State.DENIED, State.AWAITING_APPROVAL) else _lasting(chance, 9.5),
        has_gate=gated,
        question=chance.choice(_MESSAGES).format(n=chance.randrange(100)) if asked else "",
        decider=_favourite(chance, cast.deciders),
        why=chance.choice(_WHY),
    )


def _end(chance: random.Random) -> State:
    return chance.choices(list(_ENDS), list(_ENDS.values()))[0]


def _favourite(chance: random.Random, things: list[Any]) -> Any:
    """One of these; the first ones far more often than the last."""
    return things[int(len(things) * chance.random() ** 2)]


def _lasting(chance: random.Random, middle: float) -> int:
    """Milliseconds; half of all are under e**middle, a few are very long."""
    return int(min(chance.lognormvariate(middle, 1.4), 10 * 86_400_000))
