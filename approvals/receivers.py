"""What the layers below ask or tell the inbox: questions changed, a hold ended, a server is called
as somebody else, is this message still wanted.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from approvals import notices, remembered, standstill, tasks, votes
from mcpdesk.notify import standing
from tasks_monitor.engine.hold import Stretch
from tasks_monitor.signals import hold_ended, input_requests_changed, server_identity_changed


@receiver(input_requests_changed, dispatch_uid="approvals.take_in")
def ring(sender: object, *, operation_id: UUID, **_: Any) -> None:
    """Sent after the commit. A wake-up that is lost costs nothing: the sweep finds the rows."""
    tasks.take_in.delay(str(operation_id))


@receiver(hold_ended, dispatch_uid="approvals.give_back")
def give_back(sender: object, *, stretch: Stretch, **_: Any) -> None:
    """Sent in the transaction that ends a hold: the time is given back with it, or it stays on."""
    standstill.give_back(stretch)


@receiver(server_identity_changed, dispatch_uid="approvals.begin_again")
def begin_again(sender: object, *, server_id: int, now: datetime, **_: Any) -> None:
    """Sent in the transaction of the change: the votes of before go with it, and what is remembered
    of them, or it is not made.
    """
    votes.begin_again(server_id)
    remembered.end_for_server(server_id, now)


standing.register("approval", notices.why_not_any_more)
