"""Celery tasks: wake-ups, rung by the clock."""

from celery import shared_task
from django.utils import timezone

from mcpdesk.keeping import runs


@shared_task(name="mcpdesk.keeping.tasks.keep", ignore_result=True)
def keep() -> None:
    """Delete a little of what teams do not keep any longer."""
    runs.run_all(timezone.now())
