"""An item and all that a verb looks at, locked; the order is operation, approval, input request."""

from uuid import UUID

from approvals.models import Approval
from tasks_monitor.models import Operation


def locked(approval_id: UUID, team_id: int) -> Approval | None:
    """The item, locked until the transaction ends; None: the team has no such item.

    The operation is locked first, as the engine and the intake do.
    """
    mine = Approval.objects.filter(pk=approval_id, team_id=team_id)
    operation_id = mine.values_list("operation_id", flat=True).first()
    if operation_id is None:
        return None
    Operation.objects.select_for_update(no_key=True).filter(pk=operation_id).first()
    return (
        mine.select_for_update(of=("self",))
        .select_related(
            "operation__server",
            "operation__payload",
            "input_request__operation__server",
            "decided_by",
            "claimed_by",
            "proposed_by",
        )
        .first()
    )
