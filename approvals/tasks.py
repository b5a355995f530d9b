"""Celery tasks: wake-ups. Each takes ids at most, and makes one call. The rows are the queue."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from approvals import clockwork, intake
from tasks_monitor.engine.heartbeat import beat


@shared_task(name="approvals.tasks.take_in", ignore_result=True)
def take_in(operation_id: str) -> None:
    """Rung when an operation's questions changed."""
    intake.take_in(UUID(operation_id), now=timezone.now())


@shared_task(name="approvals.tasks.sweep", ignore_result=True)
def sweep() -> None:
    """Rung by the clock: finds what nobody rang for, and does what is due by now."""
    now = timezone.now()
    intake.sweep(now)
    clockwork.look(now)
    beat("inbox", now)
