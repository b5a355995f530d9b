"""Celery tasks: wake-ups. Each takes an id at most, and makes one call."""

from celery import shared_task
from django.utils import timezone

from tasks_monitor.engine.drain import drain
from tasks_monitor.engine.heartbeat import beat
from tasks_monitor.engine.network import network


@shared_task(name="tasks_monitor.tasks.look", ignore_result=True)
def look(operation_id: str | None) -> None:
    """Look for due work. The id says who rang; whatever is due is taken."""
    beat("worker", timezone.now())
    drain(network(), timezone.now)
