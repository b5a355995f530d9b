"""Real MCP servers, each a process of its own on a free port."""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.conftest import CHECKOUT, free_port

#: Importing these servers takes seconds where the machine is busy.
START_S = 60.0


@dataclass(frozen=True, slots=True)
class Peer:
    """A running server of somebody else's making, which counts what it really did."""

    origin: str

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def done(self, nonce: str) -> int:
        """How often the work of this nonce was done."""
        with urllib.request.urlopen(f"{self.origin}/side-effects", timeout=10) as response:
            return int(json.load(response)["by_nonce"].get(nonce, 0))


@contextmanager
def running(module: str) -> Iterator[Peer]:
    """Start `python -m MODULE PORT` and wait until it answers."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", module, str(port)], cwd=CHECKOUT)
    peer = Peer(f"http://127.0.0.1:{port}")
    deadline = time.monotonic() + START_S
    try:
        while not _answers(peer):
            assert process.poll() is None, f"{module} ended with status {process.returncode}"
            assert time.monotonic() < deadline, f"{module} did not answer within {START_S:.0f} s"
            time.sleep(0.05)
        yield peer
    finally:
        process.terminate()
        process.wait(10)


def _answers(peer: Peer) -> bool:
    try:
        peer.done("-")
    except OSError:
        return False
    return True
