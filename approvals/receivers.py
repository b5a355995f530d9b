"""What the layers below ask or tell the inbox: questions changed; is this message still wanted."""

from typing import Any
from uuid import UUID

from django.dispatch import receiver

from approvals import notices, tasks
from mcpdesk.notify import standing
from tasks_monitor.signals import input_requests_changed


@receiver(input_requests_changed, dispatch_uid="approvals.take_in")
def ring(sender: object, *, operation_id: UUID, **_: Any) -> None:
    """Sent after the commit. A wake-up that is lost costs nothing: the sweep finds the rows."""
    tasks.take_in.delay(str(operation_id))


standing.register("approval", notices.why_not_any_more)
