"""Phases: whose turn it was and how long, side by side, to scale."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_monitor.phases import LEAST_SHARE, MOST_PHASES, Move, Phase, Turn, bar, phases, sums
from tasks_monitor.states import TRANSITIONS, State
from tests.factories import NOW

MINUTE = timedelta(minutes=1)


def path(*steps: tuple[State, float], ended: bool = False) -> list[Phase]:
    """Phases of an operation that began in the first state, and was in each for so many minutes."""
    at, moves = NOW, []
    for (before, minutes), (after, _) in pairwise(steps):
        at += minutes * MINUTE
        moves.append(Move(at, before, after))
    now = at if ended else at + steps[-1][1] * MINUTE
    return phases(NOW, steps[-1][0], moves, now)


def said(found: list[Phase]) -> list[tuple[Turn, float]]:
    return [(phase.turn, phase.ms / 60_000) for phase in found]


def test_each_state_is_somebodys_turn_for_as_long_as_it_lasted() -> None:
    found = path(
        (State.AWAITING_APPROVAL, 3),
        (State.READY, 1),
        (State.CALLING, 2),
        (State.INPUT_REQUIRED, 5),
        (State.UNKNOWN, 8),
        (State.COMPLETED, 0),
        ended=True,
    )
    assert said(found) == [
        (Turn.APPROVAL, 3),
        (Turn.QUEUED, 1),
        (Turn.RUNNING, 2),
        (Turn.INPUT, 5),
        (Turn.OPERATOR, 8),
    ]
    assert all(phase.end for phase in found)


def test_calling_and_running_are_one_phase() -> None:
    found = path((State.READY, 1), (State.CALLING, 2), (State.WORKING, 5))
    assert said(found) == [(Turn.QUEUED, 1), (Turn.RUNNING, 7)]
    assert found[-1].end is None


def test_what_has_not_moved_yet_is_in_its_first_phase() -> None:
    assert said(path((State.AWAITING_APPROVAL, 4))) == [(Turn.APPROVAL, 4)]


def test_what_ended_has_no_phase_that_goes_on() -> None:
    assert phases(NOW, State.DENIED, [], NOW + MINUTE) == []


def test_moves_that_are_not_known_any_more_stand_together_as_earlier() -> None:
    moves = [Move(NOW + 9 * MINUTE, State.INPUT_REQUIRED, State.WORKING)]
    found = phases(NOW, State.WORKING, moves, NOW + 10 * MINUTE, whole=False)
    assert said(found) == [(Turn.EARLIER, 9), (Turn.RUNNING, 1)]


def test_more_phases_than_can_be_seen_are_put_together_at_their_beginning() -> None:
    steps = [(State.WORKING, 1.0), (State.INPUT_REQUIRED, 1.0)] * 100
    found = path(*steps)
    assert len(found) == MOST_PHASES
    assert said(found)[0] == (Turn.EARLIER, 200 - MOST_PHASES + 1)


def test_a_clock_that_is_behind_makes_no_negative_phase() -> None:
    assert said(path((State.READY, -3), (State.CALLING, 1)))[0] == (Turn.QUEUED, 0)


def test_sums_are_of_each_kind_and_say_what_goes_on() -> None:
    found = path((State.WORKING, 1), (State.INPUT_REQUIRED, 5), (State.WORKING, 2))
    running, asked = sums(found)
    assert (running.turn, running.ms, running.count, running.goes_on) == (
        Turn.RUNNING,
        180_000,
        2,
        True,
    )
    assert (asked.turn, asked.goes_on) == (Turn.INPUT, False)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=MOST_PHASES))
def test_the_bar_is_full_and_every_phase_can_be_seen(lengths: list[float]) -> None:
    pieces = bar([Phase(Turn.RUNNING, NOW, NOW, ms) for ms in lengths])
    assert sum(piece.width for piece in pieces) == pytest.approx(100, abs=0.1)
    assert min(piece.width for piece in pieces) >= LEAST_SHARE - 0.01
    assert [piece.x for piece in pieces] == sorted(piece.x for piece in pieces)


def test_a_phase_twice_as_long_is_wider() -> None:
    short, long = bar([Phase(Turn.RUNNING, NOW, NOW, ms) for ms in (1, 2)])
    assert (long.width - LEAST_SHARE) == pytest.approx(2 * (short.width - LEAST_SHARE), abs=0.01)


def test_every_state_that_is_not_an_end_is_somebodys_turn() -> None:
    for state in State:
        assert bool(phases(NOW, state, [], NOW + MINUTE)) is bool(TRANSITIONS[state])
