"""What every test may use: servers of our own as real processes, and a moment to play at."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from hypothesis import HealthCheck, settings
from pytest_django.plugin import DjangoDbBlocker

from tests import databases
from tests.simulator.process import SimulatorProcess

# on a busy machine a slow example is no fault; all else is as hypothesis has it, in CI or out of it
settings.register_profile(
    "busy", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy")

CHECKOUT = Path(__file__).resolve().parent.parent
#: bit 5 of tgtype: the trigger fires on TRUNCATE (pg_trigger.h)
TRUNCATE_TRIGGERS = (
    "SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass(%s) AND tgtype & 32 > 0"
)


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


@pytest.fixture(autouse=True, scope="module")
def _a_pool_for_each_module() -> Iterator[None]:
    """A thread that dies with its connection takes a place in the pool along for good, and dead
    connections make whoever gets them fail: neither reaches the tests of another module.
    """
    yield
    databases.begin_anew()


def _refuse_another_database(cursor: CursorWrapper) -> None:
    """A pool that was opened before the database of the tests was made stays on the other one."""
    cursor.execute("SELECT current_database()")
    (name,) = cursor.fetchone()
    if name != connection.settings_dict["NAME"]:
        pytest.exit(f"Something asks {name} while the tests are collected: they would empty it.", 3)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The database of the tests, in which the log can be emptied: that is how pytest-django
    cleans up after a test with transactions of its own.
    """
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        _refuse_another_database(cursor)
        for table in ("audit_event", "audit_seal"):
            cursor.execute(TRUNCATE_TRIGGERS, [table])
            for (trigger,) in cursor.fetchall():
                cursor.execute(f'ALTER TABLE {table} DISABLE TRIGGER "{trigger}"')
