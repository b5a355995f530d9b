"""Celery tasks: wake-ups, rung by the clock."""

from celery import shared_task
from django.utils import timezone

from mcpdesk.accounts import devices
from mcpdesk.keeping import runs


@shared_task(name="mcpdesk.keeping.tasks.keep", ignore_result=True)
def keep() -> None:
    """Delete a little of what teams do not keep any longer, and sessions that have ended."""
    now = timezone.now()
    devices.sweep(now)
    runs.run_all(now)
