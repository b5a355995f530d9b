"""One desk per data folder: a lock that ends with the process that holds it."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.locations import pid_file, running

# A desk that was killed leaves its caretaker, which stops the processes and then lets go (s).
CLEANING_S = 60.0
# How long a process that was just killed may still seem to run (s)
DYING_S = 0.5


@contextmanager
def locked(data: Path) -> Iterator[int]:
    """Hold the data folder, which is made when it is missing; yields the lock's descriptor.

    Raises StartError where a desk runs on it already or it cannot be written.
    """
    try:
        data.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(data / "desk.lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StartError(
            f"The data folder {data} cannot be written ({error.strerror}): "
            "name another one with MCPDESK_DATA."
        ) from error
    try:
        _take(descriptor, data)
        with _signed(pid_file(data)):
            yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _signed(file: Path) -> Iterator[None]:
    """Name this process as the owner, for as long as it is."""
    file.write_text(f"{os.getpid()}\n")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _take(descriptor: int, data: Path) -> None:
    started = time.monotonic()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pid = running(data)
            patience = CLEANING_S if pid is None else DYING_S
            if time.monotonic() - started > patience:
                raise StartError(_already_running(data, pid)) from None
        time.sleep(0.05)


def _already_running(data: Path, pid: int | None) -> str:
    if pid is None:
        return f"Processes of an earlier desk still hold {data}: wait until they have stopped."
    return (
        f"A desk runs on {data} already (process {pid}). Stop that one (Ctrl-C, or kill {pid}), or "
        "name another data folder with MCPDESK_DATA and another address with MCPDESK_BIND."
    )
