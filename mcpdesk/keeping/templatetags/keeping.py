"""What pages of operations and items say about how long things are kept."""

from typing import Any

from django import template

from mcpdesk.accounts.access import Member, Permission
from mcpdesk.keeping import holds, settings
from tasks_monitor.models import Operation

register = template.Library()


@register.inclusion_tag("keeping/payload_deleted.html")
def payload_deleted(operation: Operation) -> dict[str, Any]:
    """When what the operation carried was deleted, and why."""
    return {"operation": operation, "days": settings.of(operation.team_id).payload_days}


@register.inclusion_tag("keeping/legal_holds.html")
def legal_holds(operation: Operation, member: Member) -> dict[str, Any]:
    """That nothing of the operation is deleted; why, for those who read the whole history."""
    return {
        "holds": holds.of_operation(operation),
        "shows_reasons": member.may(Permission.READ_HISTORY),
    }
