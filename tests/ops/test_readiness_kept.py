"""What /readyz found serves all who ask within a second, and never anybody later."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.ops.readiness import KEPT_S, Kept

OK, AWAY = {"database": True}, {"database": False}


class World:
    """A clock that stands still unless something takes time, and a database that may go away."""

    def __init__(self) -> None:
        self.now, self.looked, self.takes_s = 0.0, 0, 0.0
        self.away_since = float("inf")

    def find(self) -> dict[str, bool]:
        """The database is looked at first; the rest takes the time."""
        self.looked += 1
        found = AWAY if self.now >= self.away_since else OK
        self.now += self.takes_s
        return found

    def clock(self) -> float:
        return self.now


def test_all_who_ask_within_a_second_share_one_check() -> None:
    world = World()
    kept = Kept(world.find, world.clock)
    for now, looked in ((0.0, 1), (0.5, 1), (1.0, 1), (1.01, 2), (2.0, 2), (9.0, 3)):
        world.now = now
        assert kept() == OK
        assert world.looked == looked


def test_what_is_not_ready_is_kept_no_longer_either() -> None:
    world = World()
    kept = Kept(world.find, world.clock)
    world.away_since = 0.0
    assert kept() == AWAY
    world.now, world.away_since = KEPT_S + 0.01, float("inf")
    assert kept() == OK


#: In eighths, so that sums are exact.
_SECONDS = st.integers(0, 24).map(lambda eighths: eighths / 8)
_STEPS = st.lists(st.tuples(_SECONDS, _SECONDS), min_size=1, max_size=20)


@given(steps=_STEPS, away_after=_SECONDS)
def test_nobody_who_asks_a_second_after_the_database_went_away_is_told_ready(
    steps: list[tuple[float, float]], away_after: float
) -> None:
    world = World()
    world.away_since = away_after
    kept = Kept(world.find, world.clock)
    for pause, takes_s in steps:
        world.now += pause
        world.takes_s = takes_s
        asked_at = world.now
        if kept() == OK:
            assert asked_at <= away_after + KEPT_S


def test_a_check_that_fails_itself_is_kept_for_nobody() -> None:
    found: list[Any] = [OSError("broken"), OK]

    def find() -> dict[str, bool]:
        first = found.pop(0)
        if isinstance(first, Exception):
            raise first
        return dict(first)

    kept = Kept(find, lambda: 0.0)
    with pytest.raises(OSError, match="broken"):
        kept()
    assert kept() == OK


def _ask_at_once(kept: Kept, people: int) -> list[dict[str, bool]]:
    with ThreadPoolExecutor(people) as pool:
        return [one.result(10) for one in [pool.submit(kept) for _ in range(people)]]


def _counted(inner: Callable[[], object]) -> tuple[list[None], Callable[[], dict[str, bool]]]:
    looked: list[None] = []

    def find() -> dict[str, bool]:
        looked.append(None)
        inner()
        return OK

    return looked, find


def test_who_asks_while_a_check_runs_waits_for_it_and_shares_it() -> None:
    asked = threading.Semaphore(0)

    def clock() -> float:
        asked.release()
        return 0.0

    def all_have_asked() -> None:
        # each of the four looked at the clock, and the one whose check this is twice
        assert all(asked.acquire(timeout=10) for _ in range(5))

    looked, find = _counted(all_have_asked)
    assert _ask_at_once(Kept(find, clock), 4) == [OK] * 4
    assert len(looked) == 1


def test_without_the_lock_everybody_would_have_it_checked() -> None:
    looked, find = _counted(threading.Barrier(4, timeout=10).wait)
    kept = Kept(find, lambda: 0.0)
    kept._lock = _NoLock()  # type: ignore[assignment]
    assert _ask_at_once(kept, 4) == [OK] * 4
    assert len(looked) == 4


class _NoLock:
    def acquire(self, timeout: float) -> bool:
        return True

    def release(self) -> None:
        return None


def test_who_waits_too_long_is_told_that_nothing_is_ready() -> None:
    kept = Kept(lambda: OK, wait_s=0.0)
    with kept._lock:
        found = kept()
    assert set(found) == {"database", "migrations", "broker", "workers", "clock"}
    assert not any(found.values())
    assert kept() == OK
