"""The last call of the same tool that people approved, to compare a new one with."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from approvals.differences import Differences, differences
from approvals.models import Approval, Kind, Verdict
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from tasks_monitor.models import HistoryEntry, Operation
from tasks_monitor.states import State

#: What is read of an earlier call, nothing of the row that it is found by.
_READ = (
    *("operation__team", "operation__started_by", "operation__token", "operation__created_at"),
    "operation__payload__arguments",
)


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier call, and what this one does otherwise.

    `approved` False: no call of this tool was ever approved; this one completed.
    """

    operation: Operation
    approved: bool
    differences: Differences


def compare(approval: Approval, member: Member) -> Earlier | None:
    """The last approved call of the tool, else the last completed one, compared with this call.

    None where there is none, where its arguments are gone, or where the member may not read them:
    an older one that they may read would be taken for the last.
    """
    this = approval.operation
    found = _approved(this)
    last = found or _completed(this)
    arguments = _arguments(last)
    if last is None or arguments is None or not access.may_see_payload(member, last):
        return None
    return Earlier(last, found is not None, differences(arguments, this.payload.arguments))


def _approved(this: Operation) -> Operation | None:
    """The newest other call of the tool that was approved, not later than this one."""
    approved = Approval.objects.filter(kind=Kind.GATE, decision=Verdict.APPROVE)
    return _newest(approved, this)


def _completed(this: Operation) -> Operation | None:
    """The newest other call of the tool that completed well, not later than this one."""
    well = HistoryEntry.objects.filter(state=State.COMPLETED, is_error=False)
    return _newest(well, this)


def _newest(rows: QuerySet[Any], this: Operation) -> Operation | None:
    same = rows.filter(team=this.team_id, server=this.server_id, tool_name=this.tool_name)
    older = same.filter(created_at__lte=this.created_at).exclude(operation=this.pk)
    whole = older.select_related("operation__payload").only("operation", *_READ)
    found = whole.order_by("-created_at", "-pk").first()
    return found.operation if found else None


def _arguments(operation: Operation | None) -> Any:
    payload = getattr(operation, "payload", None)
    return payload.arguments if payload else None
