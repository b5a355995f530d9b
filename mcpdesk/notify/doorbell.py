"""Rings a worker for a message that somebody waits for. The clock finds what nobody rang for."""

import logging

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)

DELIVER = "mcpdesk.notify.tasks.deliver"


def ring_on_commit() -> None:
    """Wake a worker once the current transaction commits."""
    transaction.on_commit(_ring, robust=True)


def _ring() -> None:
    try:
        current_app.send_task(DELIVER, expires=30)
    except Exception as error:
        logger.warning("the broker did not take a wake-up: %s", type(error).__name__)
