"""What every test may use: servers of our own as real processes, and a moment to play at."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulator.process import SimulatorProcess

CHECKOUT = Path(__file__).resolve().parent.parent


def free_port() -> int:
    """A TCP port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def simulator_process() -> Iterator[SimulatorProcess]:
    """One simulator for the whole run."""
    with SimulatorProcess("--seed", "t") as process:
        yield process


@pytest.fixture
def simulator(simulator_process: SimulatorProcess) -> SimulatorProcess:
    """The simulator, with nothing in it."""
    simulator_process.reset()
    return simulator_process
