"""What the layers below ask or tell the inbox: questions changed, a hold ended, is this message
still wanted.
"""

from typing import Any
from uuid import UUID

from django.dispatch import receiver

from approvals import notices, standstill, tasks
from mcpdesk.notify import standing
from tasks_monitor.engine.hold import Stretch
from tasks_monitor.signals import hold_ended, input_requests_changed


@receiver(input_requests_changed, dispatch_uid="approvals.take_in")
def ring(sender: object, *, operation_id: UUID, **_: Any) -> None:
    """Sent after the commit. A wake-up that is lost costs nothing: the sweep finds the rows."""
    tasks.take_in.delay(str(operation_id))


@receiver(hold_ended, dispatch_uid="approvals.give_back")
def give_back(sender: object, *, stretch: Stretch, **_: Any) -> None:
    """Sent in the transaction that ends a hold: the time is given back with it, or it stays on."""
    standstill.give_back(stretch)


standing.register("approval", notices.why_not_any_more)
