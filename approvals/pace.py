"""How long people took to decide, for the chart of the dashboard."""

from collections.abc import Sequence

from approvals.models import Approval
from mcpdesk.accounts.access import Member, in_team
from tasks_monitor.charts import Narrow, Paces, paces
from tasks_monitor.spans import Span


def people_paces(
    member: Member, span: Span, narrow: Narrow, only: Sequence[int] | None = None
) -> Paces:
    """From when an item was made to the decision about it, for what was decided in the span.

    An item that ended in any other way (expired, withdrawn, closed) was decided by nobody.
    """
    decided = Approval.objects.filter(narrow.on(), decided_at__isnull=False)
    return paces(in_team(member, decided), "decided_at", span, "took_ms", only)
