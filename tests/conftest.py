"""What every test may use: servers of our own as real processes, and a moment to play at."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
START_S = 20.0


def free_port() -> int:
    """A TCP port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class SimulatorProcess:
    """A running simulator: its endpoint, and what it saw."""

    origin: str

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def get(self, path: str) -> Any:
        """What a control endpoint says, as JSON."""
        with urllib.request.urlopen(f"{self.origin}{path}", timeout=10) as response:
            return json.load(response)

    def reset(self) -> None:
        """Forget tasks and counts."""
        request = urllib.request.Request(f"{self.origin}/reset", method="POST", data=b"")
        urllib.request.urlopen(request, timeout=10).close()

    def side_effects(self, nonce: str) -> int:
        """How often the side effect of this nonce happened."""
        return int(self.get("/side-effects")["by_nonce"].get(nonce, 0))


def start_simulator(*options: str) -> tuple["subprocess.Popen[bytes]", SimulatorProcess]:
    """Start a simulator and wait until it answers."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "mcpdesk.simulator", "--port", str(port), "--seed", "t", *options],
        cwd=CHECKOUT,
    )
    simulator = SimulatorProcess(f"http://127.0.0.1:{port}")
    deadline = time.monotonic() + START_S
    while True:
        try:
            simulator.get("/healthz")
            return process, simulator
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise RuntimeError("the simulator did not start") from None
            time.sleep(0.05)


@pytest.fixture(scope="session")
def simulator_process() -> Iterator[SimulatorProcess]:
    """One simulator for the whole run."""
    process, simulator = start_simulator()
    yield simulator
    process.terminate()
    process.wait(10)


@pytest.fixture
def simulator(simulator_process: SimulatorProcess) -> SimulatorProcess:
    """The simulator, with nothing in it."""
    simulator_process.reset()
    return simulator_process
