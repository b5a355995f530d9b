import pytest

from tests.simulator.peer import Clock, Peer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def peer(clock: Clock) -> Peer:
    return Peer(clock)
