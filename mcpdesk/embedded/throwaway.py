"""Services for one run of the tests or of a benchmark, in a folder that goes with them."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mcpdesk.embedded.child import Child, Command
from mcpdesk.embedded.console import say, step
from mcpdesk.embedded.keys import generate_keys, generate_seal_key
from mcpdesk.embedded.locations import database_url, log_dir
from mcpdesk.embedded.lock import locked
from mcpdesk.embedded.postgres import Postgres
from mcpdesk.embedded.signals import Signals
from mcpdesk.embedded.supervisor import Supervisor


@dataclass(frozen=True, slots=True)
class Kind:
    """What the services are for."""

    purpose: str
    postgres_options: dict[str, str]
    redis: bool


# The database of the tests need not survive a power cut; what is measured must be durable.
TESTS = Kind(
    "the tests",
    {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"},
    redis=True,
)
BENCHMARKS = Kind("the benchmark", {}, redis=False)


@contextmanager
def services(signals: Signals, kind: Kind) -> Iterator[dict[str, str]]:
    """Start a PostgreSQL, and a Redis where wanted; yields the environment that names them.

    Everything is gone afterwards. Raises StartError.
    """
    folder = Path(tempfile.mkdtemp(prefix="mcpdesk-test-"))
    # root's PostgreSQL runs as another account, which has to pass through
    folder.chmod(0o711)
    try:
        with locked(folder) as lock:
            supervisor = Supervisor(folder, lock, signals, say)
            try:
                environment = os.environ | _keys(folder) | _database(supervisor, folder, kind)
                yield environment | (_redis(supervisor, folder) if kind.redis else {})
            finally:
                supervisor.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _keys(folder: Path) -> dict[str, str]:
    keys = generate_keys(folder)
    return {
        "MCPDESK_DATA": str(folder),
        "MCPDESK_SECRET_KEY": keys.secret_key,
        "MCPDESK_ENCRYPTION_KEYS": ",".join(keys.encryption_keys),
        "MCPDESK_SEAL_KEY": generate_seal_key(folder).private,
    }


def _database(supervisor: Supervisor, folder: Path, kind: Kind) -> dict[str, str]:
    with step(f"Starting PostgreSQL for {kind.purpose}"):
        server = Postgres(folder, kind.postgres_options)
        server.create()
        supervisor.wait_until(supervisor.start("postgres", server.start), server.answers)
    return {"DATABASE_URL": database_url(folder)}


def _redis(supervisor: Supervisor, folder: Path) -> dict[str, str]:
    """The broker and channel layer of the second configuration, where Redis is installed."""
    program = shutil.which("redis-server")
    if program is None:
        say("Redis is not installed: what needs it is skipped.")
        return {}
    port = _free_port()
    argv = (program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder))
    with step("Starting Redis for the tests"):
        start = partial(Child, Command("redis", argv), log_dir(folder) / "redis.log")
        supervisor.wait_until(supervisor.start("redis", start), partial(_listens, port))
    return {"MCPDESK_TEST_REDIS_URL": f"redis://127.0.0.1:{port}"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
