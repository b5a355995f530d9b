"""Celery tasks: wake-ups, rung by the clock."""

from celery import shared_task
from django.utils import timezone

from mcpdesk.audit import passes, sealing


@shared_task(name="mcpdesk.audit.tasks.seal", ignore_result=True)
def seal() -> None:
    """Seal what has happened, then verify the log a little further."""
    sealing.seal_due(timezone.now())
    passes.go_on(timezone.now)
