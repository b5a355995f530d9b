"""Tells open pages that something changed, after the change is committed.

A message names *what* changed (ids), never what it changed to: the browser asks the view again and
the view decides what that person may see. A lost message costs a page its liveliness until the next
one, never its truth, so a failing channel layer is logged and otherwise ignored.
"""

import asyncio
import logging
import threading
from functools import lru_cache
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer
from django.db import transaction

logger = logging.getLogger(__name__)

#: So many at a time, the others after them: over Redis each takes a connection, of which there are
#: a hundred.
_sending = asyncio.Semaphore(10)


def team_group(team_id: int) -> str:
    """The channel group of everyone looking at pages of that team."""
    return f"team.{team_id}"


def announce(
    team_id: int,
    *,
    operation_id: UUID | None = None,
    approval_id: UUID | None = None,
    server_id: int | None = None,
) -> None:
    """Send the ids to the team's group once the current transaction commits."""
    message = {
        "type": "live.change",
        "operation": str(operation_id) if operation_id else None,
        "approval": str(approval_id) if approval_id else None,
        "server": server_id,
    }
    transaction.on_commit(lambda: post(team_group(team_id), message), robust=True)


def post(group: str, message: dict[str, Any]) -> None:
    """Hand a message to the channel layer from any thread, without waiting for it."""
    asyncio.run_coroutine_threadsafe(_send(group, message), _loop())


async def _send(group: str, message: dict[str, Any]) -> None:
    try:
        layer = get_channel_layer()
        if layer is not None:
            async with _sending:
                await layer.group_send(group, message)
    except Exception:
        logger.exception("could not announce a change to %s", group)


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    """One loop per process: the channel layers keep their connections per loop."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="announce", daemon=True).start()
    return loop
