from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance import node
from tests.simulator.process import SimulatorProcess


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The folder with the official packages, installed from the lock file."""
    return node.install()


@pytest.fixture(scope="module")
def simulator() -> Iterator[SimulatorProcess]:
    with SimulatorProcess() as process:
        yield process
