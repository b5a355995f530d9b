"""`./desk clock`: the process that finds what nobody rang for."""

import logging
import signal
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import Error, close_old_connections, connection
from django.utils import timezone

from mcpdesk import logs
from mcpdesk.audit.pace import Pace
from mcpdesk.notify import retention
from mcpdesk.notify.claim import anything_due as anything_to_tell
from mcpdesk.notify.deliver import deliver
from mcpdesk.notify.doorbell import DELIVER
from tasks_monitor.engine import matters, tally
from tasks_monitor.engine.doorbell import APPROVALS_SWEEP, ring, ring_task
from tasks_monitor.engine.heartbeat import beat, last_beat
from tasks_monitor.engine.sweep import anything_due, sweep
from tasks_monitor.engine.watch import EVERY_S as WATCH_EVERY_S
from tasks_monitor.engine.watch import Watch

logger = logging.getLogger(__name__)

SWEEP_EVERY_S = 1.0
#: Unanswered rings are repeated at this pace: a broker without workers must not fill up.
RING_AGAIN_AFTER = timedelta(seconds=5)
SIGN_OF_LIFE_EVERY = timedelta(seconds=10)
APPROVALS_EVERY_S = 2.0
SEAL = "mcpdesk.audit.tasks.seal"
KEEP = "mcpdesk.keeping.tasks.keep"
KEEP_EVERY_S = 60.0
CHARTS = "mcpdesk.web.tasks.keep_days"
CHARTS_EVERY_S = 600.0


class Command(BaseCommand):
    help = "Look for work that nobody rang for. Runs until it is stopped; several do no harm."

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        logs.write_events()
        clock = Clock()
        while not stop.wait(settings.SWEEP_INTERVAL_S):
            self._tick(clock)

    def _tick(self, clock: "Clock") -> None:
        """One look. Whatever goes wrong with it, another one follows."""
        close_old_connections()
        try:
            clock.tick(timezone.now(), time.monotonic())
        except Error as error:
            self.stderr.write(f"The database did not answer ({type(error).__name__}); going on.")
        except Exception:
            logger.exception("the clock could not look at everything")


def _deliver() -> None:
    """In a thread of its own: a receiver that hangs must not stop the clock."""
    try:
        deliver(timezone.now)
    except Exception:
        logger.exception("the clock could not send messages")
    finally:
        connection.close()


def _sweep(now: datetime) -> None:
    beat("clock", now)
    sweep(now)


class Chore:
    """What is done every so often (s)."""

    def __init__(self, every_s: float, do: Callable[[datetime], None]) -> None:
        self._every_s, self._do = every_s, do
        self._done_at = float("-inf")

    def tick(self, now: datetime, monotonic: float) -> None:
        """Do it, if it is time."""
        if monotonic - self._done_at >= self._every_s:
            self._done_at = monotonic
            self._do(now)


class Clock:
    """Decides at each tick what to look at; keeps nothing that matters."""

    def __init__(self) -> None:
        self._clear_at = float("-inf")
        self._telling: threading.Thread | None = None
        self._rung_at: datetime | None = None
        self._watch = Watch()
        self._log = Pace()
        self._chores = [
            Chore(SWEEP_EVERY_S, _sweep),
            Chore(WATCH_EVERY_S, self._watch.look),
            Chore(matters.EVERY_S, matters.look),
            Chore(tally.EVERY_S, tally.count),
            Chore(KEEP_EVERY_S, lambda now: ring_task(KEEP)),
            Chore(CHARTS_EVERY_S, lambda now: ring_task(CHARTS)),
        ]
        self._sweep_approvals = Chore(APPROVALS_EVERY_S, self._look_at_approvals)

    def tick(self, now: datetime, monotonic: float) -> None:
        """One look. `now` is aware UTC, `monotonic` a steady clock in s."""
        for chore in self._chores:
            chore.tick(now, monotonic)
        if monotonic >= self._clear_at:
            # first, so that what fails here keeps nothing else waiting until its time comes again
            self._clear_at = monotonic + retention.EVERY_S
            if retention.clear(now):
                self._clear_at = monotonic + retention.AGAIN_S
        if not self._is_answered(now):
            return
        if anything_due(now) or self._is_quiet(now):
            self._rung_at = now
            ring()
        self._sweep_approvals.tick(now, monotonic)
        if self._log.is_time(monotonic):
            ring_task(SEAL)

    def _look_at_approvals(self, now: datetime) -> None:
        ring_task(APPROVALS_SWEEP)
        if anything_to_tell(now):
            self._tell()

    def _tell(self) -> None:
        """Have a worker send what is due; where there is none, the clock sends it by itself."""
        if "worker" not in self._watch.missing:
            ring_task(DELIVER)
        elif self._telling is None or not self._telling.is_alive():
            self._telling = threading.Thread(target=_deliver, name="tell", daemon=True)
            self._telling.start()

    def _is_answered(self, now: datetime) -> bool:
        """Whether a worker came to the last ring, or it is time to ring once more."""
        if self._rung_at is None or now - self._rung_at >= RING_AGAIN_AFTER:
            return True
        seen = last_beat("worker")
        return seen is not None and seen >= self._rung_at

    def _is_quiet(self, now: datetime) -> bool:
        """Time for a sign of life although nothing is due: the health page shows it."""
        return self._rung_at is None or now - self._rung_at >= SIGN_OF_LIFE_EVERY
