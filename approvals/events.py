"""The events of an item: each names the item, its operation and its server."""

from datetime import datetime
from typing import Any

from approvals.models import Approval
from mcpdesk.audit.log import Actor, record


def note(approval: Approval, kind: str, actor: Actor, now: datetime, **data: Any) -> None:
    """Write one event about an item, in the caller's transaction (mcpdesk.audit.log.record)."""
    record(
        kind,
        team_id=approval.team_id,
        actor=actor,
        now=now,
        operation_id=approval.operation_id,
        approval_id=approval.pk,
        server_id=approval.operation.server_id,
        **data,
    )
