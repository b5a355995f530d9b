"""Rings the workers. A lost ring costs time until the clock's next look, never work."""

import logging
from uuid import UUID

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)

LOOK = "tasks_monitor.tasks.look"
APPROVALS_SWEEP = "approvals.tasks.sweep"


def ring_on_commit(operation_id: UUID) -> None:
    """Wake a worker for this operation once the current transaction commits."""
    transaction.on_commit(lambda: ring(operation_id), robust=True)


def ring(operation_id: UUID | None = None) -> None:
    """Wake a worker now."""
    ring_task(LOOK, str(operation_id) if operation_id else None)


def ring_task(name: str, *args: str | None) -> None:
    """Send a wake-up. A broker that is away is logged, no more: the row is the queue."""
    try:
        current_app.send_task(name, args=args, expires=30)
    except Exception as error:
        logger.warning("the broker did not take a wake-up: %s", type(error).__name__)
