"""Celery tasks: wake-ups, rung by the clock."""

from celery import shared_task
from django.utils import timezone

from mcpdesk.web import days


@shared_task(name="mcpdesk.web.tasks.keep_days", ignore_result=True)
def keep_days() -> None:
    """Keep what charts show of the days that are over."""
    days.keep(timezone.now())
