"""The thread of a worker that watches the clock: without the clock nobody rings the worker."""

import logging
import threading
from datetime import datetime, timedelta

from django.db import Error, close_old_connections, connection
from django.utils import timezone

from mcpdesk.notify.claim import anything_due
from mcpdesk.notify.deliver import deliver
from tasks_monitor.engine.doorbell import APPROVALS_SWEEP, ring, ring_task
from tasks_monitor.engine.heartbeat import last_beat
from tasks_monitor.engine.watch import EVERY_S, Watch

logger = logging.getLogger(__name__)


def watch(stop: threading.Event) -> None:
    """Look every 20 s until `stop` is set, whatever the database does."""
    watcher = Watch()
    while not stop.wait(EVERY_S):
        close_old_connections()
        try:
            watcher.look(timezone.now())
            _ring_instead_of_the_clock(timezone.now())
            if "clock" in watcher.missing and anything_due(timezone.now()):
                deliver(timezone.now)
        except Error as error:
            logger.warning("could not watch the clock: %s", type(error).__name__)
        except Exception:
            logger.exception("could not watch the clock")
    connection.close()


def _ring_instead_of_the_clock(now: datetime) -> None:
    """Where no clock rings, workers and inbox would seem to be gone as well, and nothing be taken
    up.
    """
    seen = last_beat("clock")
    if seen is None or now - seen > timedelta(seconds=EVERY_S):
        ring()
        ring_task(APPROVALS_SWEEP)


def start(stop: threading.Event) -> threading.Thread:
    """Watch in a thread of its own, which does not keep the process alive."""
    thread = threading.Thread(target=watch, args=(stop,), name="watchdog", daemon=True)
    thread.start()
    return thread
