"""Celery tasks: wake-ups. Each takes an id at most, and makes one call."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from django.utils import timezone

from tasks_monitor import watchdog
from tasks_monitor.engine.drain import drain, rung, stopping
from tasks_monitor.engine.heartbeat import beat
from tasks_monitor.engine.network import close_network, network


@worker_ready.connect
def watch_the_clock(**_: Any) -> None:
    """A clock that is gone rings nobody: the worker has to notice by itself."""
    watchdog.start(stopping)


@worker_shutting_down.connect
def stop_claiming(**_: Any) -> None:
    """A warm shutdown: what is in flight is still applied, nothing new is begun."""
    stopping.set()


@worker_shutdown.connect
def hang_up(**_: Any) -> None:
    """The last thing a worker does: its connections to servers are closed, not dropped."""
    close_network()


@shared_task(name="tasks_monitor.tasks.look", ignore_result=True)
def look(operation_id: str | None) -> None:
    """Look for due work. The id says who rang; whatever is due is taken."""
    beat("worker", timezone.now())
    while drain(network(), timezone.now) and (network().in_flight or rung()):
        beat("worker", timezone.now())
