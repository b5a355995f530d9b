"""Whether a desk does its work: what it stands on is there, and what has to run was seen."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from celery import current_app
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from tasks_monitor.engine.heartbeat import silences

logger = logging.getLogger(__name__)

#: How long (s) the broker may take to answer.
BROKER_TIMEOUT_S: Final = 2.0
#: Anybody may ask, as often as they like: what was found serves everybody for so long (s).
KEPT_S: Final = 1.0
#: Who waits longer (s) for what another's question finds is told that nothing is ready.
WAIT_S: Final = 5.0

_migrated = False


def checks() -> dict[str, bool]:
    """Each thing by its name, and whether it is as it has to be. Raises nothing.

    Why something is not is for the log: anybody may ask.
    """
    return {name: _holds(name, check) for name, check in _CHECKS.items()}


def _holds(name: str, check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception as error:
        logger.warning("not ready: %s (%s)", name, type(error).__name__)
        return False


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def _migrations() -> bool:
    """Whether every table is as this version wants it; once it is, it stays so for this process."""
    global _migrated
    if not _migrated:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return _migrated


def _broker() -> bool:
    with current_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=BROKER_TIMEOUT_S)
        # what is only connected to when something is sent
        broker.default_channel.close()
    return True


def _workers() -> bool:
    return _unseen().isdisjoint({"worker", "inbox"})


def _clock() -> bool:
    return "clock" not in _unseen()


def _unseen() -> set[str]:
    """What ought to have been seen within the last minute, and was not."""
    return {silence.process for silence in silences(timezone.now())}


_CHECKS: Final[dict[str, Callable[[], bool]]] = {
    "database": _database,
    "migrations": _migrations,
    "broker": _broker,
    "workers": _workers,
    "clock": _clock,
}


class Kept:
    """What the checks found, for all who ask within KEPT_S; one of them at a time has it found.

    It is as old as its beginning: whoever is told "ready" learns how things were at most KEPT_S
    before they asked. `clock` is a steady one, in s.
    """

    def __init__(
        self,
        find: Callable[[], dict[str, bool]],
        clock: Callable[[], float] = time.monotonic,
        wait_s: float = WAIT_S,
    ) -> None:
        self._find, self._clock, self._wait_s = find, clock, wait_s
        self._lock = threading.Lock()
        self._begun_at, self._found = float("-inf"), dict[str, bool]()

    def __call__(self) -> dict[str, bool]:
        """Each thing by its name, and whether it is as it has to be."""
        asked_at = self._clock()
        if not self._lock.acquire(timeout=self._wait_s):
            return dict.fromkeys(_CHECKS, False)
        try:
            if self._begun_at < asked_at - KEPT_S:
                begun_at = self._clock()
                self._found, self._begun_at = self._find(), begun_at
            return self._found
        finally:
            self._lock.release()


#: What this process found last.
lately: Final = Kept(checks)
