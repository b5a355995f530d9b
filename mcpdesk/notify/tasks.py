"""Celery tasks: wake-ups. The rows are the queue."""

from celery import shared_task
from django.utils import timezone

from mcpdesk.notify import deliver as delivery


@shared_task(name="mcpdesk.notify.tasks.deliver", ignore_result=True)
def deliver() -> None:
    """Rung by the clock when something is due."""
    delivery.deliver(timezone.now)
