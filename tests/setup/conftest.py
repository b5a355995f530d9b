import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SLEEP = "import time; time.sleep(600)"


def eventually(condition: Callable[[], bool], seconds: float = 15.0) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class TinyDesk:
    """A running tests.setup.tiny_desk, and what it has printed so far."""

    def __init__(self, data: Path, first: str, second: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.setup.tiny_desk", str(data), first, second],
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # a process group, as a shell gives it one: Ctrl-C reaches the whole group
            process_group=0,
        )
        self.printed: list[str] = []

    def read_until(self, pattern: str) -> re.Match[str]:
        """Read lines until one matches; the test's time limit is the limit."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(line.rstrip("\n"))
            if match := re.search(pattern, line):
                return match
        raise AssertionError(f"{pattern!r} never came: {self.printed}")

    def ready(self) -> tuple[int, int]:
        """The process ids of its two processes, once it runs."""
        pids = [int(self.read_until(rf"{name} is (\d+)")[1]) for name in ("first", "second")]
        self.read_until("^ready")
        return pids[0], pids[1]

    def ctrl_c(self) -> None:
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> int:
        """Its exit status, once it has ended."""
        assert self.process.stdout is not None
        self.printed += self.process.stdout.read().splitlines()
        return self.process.wait(timeout=30)


@pytest.fixture
def tiny_desk(tmp_path: Path) -> Iterator[Callable[..., TinyDesk]]:
    """Starts tiny desks on one data folder; those that still run at the end are stopped."""
    desks: list[TinyDesk] = []

    def start(first: str = SLEEP, second: str = SLEEP) -> TinyDesk:
        desks.append(TinyDesk(tmp_path / "data", first, second))
        return desks[-1]

    yield start
    for desk in desks:
        if desk.process.poll() is None:
            desk.process.terminate()
            desk.end()
