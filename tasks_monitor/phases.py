"""The phases of an operation, from what it did when: whose turn it was, and for how long. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum, auto
from typing import Final

from tasks_monitor.states import TERMINAL, State

#: More phases than this would be too narrow to see: the earliest ones stand together as one.
MOST_PHASES: Final = 40
#: The least width of a phase in the bar (percent of its width).
LEAST_SHARE: Final = 1.2


class Turn(StrEnum):
    """Whose turn it is in a phase."""

    APPROVAL = auto()
    QUEUED = auto()
    RUNNING = auto()
    INPUT = auto()
    OPERATOR = auto()
    EARLIER = auto()

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS: Final = {
    Turn.APPROVAL: "Waiting for approval",
    Turn.QUEUED: "Queued",
    Turn.RUNNING: "Running",
    Turn.INPUT: "Waiting for input",
    Turn.OPERATOR: "Waiting for an operator",
    Turn.EARLIER: "Earlier phases",
}
_TURN_OF: Final = {
    State.AWAITING_APPROVAL: Turn.APPROVAL,
    State.READY: Turn.QUEUED,
    State.CALLING: Turn.RUNNING,
    State.WORKING: Turn.RUNNING,
    State.INPUT_REQUIRED: Turn.INPUT,
    State.LOST: Turn.OPERATOR,
    State.UNKNOWN: Turn.OPERATOR,
    State.STUCK: Turn.OPERATOR,
}


@dataclass(frozen=True, slots=True)
class Move:
    """A change of state: when (UTC), from and to what."""

    at: datetime
    before: State
    after: State


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase; `end` None: it goes on, and is measured up to now."""

    turn: Turn
    begin: datetime
    end: datetime | None
    ms: float


@dataclass(frozen=True, slots=True)
class Piece:
    """A phase in the bar: where it begins and how wide it is (percent)."""

    phase: Phase
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Sum:
    """All phases of one kind together; `goes_on`: the last of them is now."""

    turn: Turn
    ms: float
    count: int
    goes_on: bool


def phases(
    begin: datetime, state: State, moves: Sequence[Move], now: datetime, *, whole: bool = True
) -> list[Phase]:
    """What the operation did from `begin` on, given its moves in order and the state it is in.

    Phases of one kind that follow each other are one. `whole` False: moves before the first one
    given are not known, and what they were stands together as "earlier".
    """
    first = moves[0].before if moves else state
    found: list[Phase] = []
    turn = _TURN_OF.get(first) if whole else Turn.EARLIER
    for move in moves:
        _add(found, turn, begin, move.at)
        turn, begin = _TURN_OF.get(move.after), move.at
    if state not in TERMINAL:
        _add(found, turn, begin, None, now)
    return _at_most(found, MOST_PHASES)


def _add(
    found: list[Phase],
    turn: Turn | None,
    begin: datetime,
    end: datetime | None,
    now: datetime | None = None,
) -> None:
    """Put a phase behind the others, or make the last one longer."""
    if turn is None:
        return
    until = end or now or begin
    if found and found[-1].turn is turn and found[-1].end == begin:
        begin = found.pop().begin
    found.append(Phase(turn, begin, end, _ms(begin, until)))


def _ms(begin: datetime, end: datetime) -> float:
    return max(0.0, (end - begin).total_seconds() * 1000)


def _at_most(found: list[Phase], most: int) -> list[Phase]:
    extra = len(found) - most + 1
    if extra < 2:
        return found
    first, last = found[0], found[extra - 1]
    ms = sum(phase.ms for phase in found[:extra])
    return [replace(first, turn=Turn.EARLIER, end=last.end, ms=ms), *found[extra:]]


def bar(found: Sequence[Phase]) -> list[Piece]:
    """The phases side by side, to scale beyond a least width that each of them has."""
    total = sum(phase.ms for phase in found)
    rest = 100 - LEAST_SHARE * len(found)
    pieces: list[Piece] = []
    x = 0.0
    for phase in found:
        share = phase.ms / total if total else 1 / len(found)
        width = LEAST_SHARE + share * rest
        pieces.append(Piece(phase, round(x, 3), round(width, 3)))
        x += width
    return pieces


def sums(found: Iterable[Phase]) -> list[Sum]:
    """How long each kind of phase took in all, in the order in which they first came."""
    kinds: dict[Turn, list[Phase]] = {}
    for phase in found:
        kinds.setdefault(phase.turn, []).append(phase)
    return [
        Sum(turn, sum(p.ms for p in each), len(each), goes_on=each[-1].end is None)
        for turn, each in kinds.items()
    ]
