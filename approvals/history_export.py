"""The export of approvals: a line for each, oldest first."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet

from approvals import history
from approvals.history_filters import ApprovalFilters
from approvals.models import Approval, Vote
from mcpdesk.accounts.access import Member
from mcpdesk.audit.exports import Subject
from mcpdesk.keyset import Order
from tasks_monitor.models import Delivery, InputRequest

_COLUMNS: Final = (
    *("id", "operation", "kind", "server", "tool", "started_by", "audience", "four_eyes"),
    *("state", "decision", "decided_by", "votes", "created_at", "closed_at", "took_ms"),
)
_SEALED: Final = ("question", "answer", "reasons")


def _clean(given: Mapping[str, str]) -> str:
    return ApprovalFilters.read(given).query


def _rows(member: Member, given: Mapping[str, str], until: datetime) -> QuerySet[Approval]:
    found = history.items(member, ApprovalFilters.read(given)).only("created_at")
    return found.filter(created_at__lte=until)


def _values(lines: list[Approval], sealed: bool) -> Iterator[Sequence[Any]]:
    votes = _votes(lines)
    asked, answered = _asked(lines, sealed)
    for approval in history.whole([line.pk for line in lines]):
        mine = votes.get(approval.pk, [])
        beside: list[Any] = []
        if sealed:
            question = asked.get(approval.input_request_id)
            answer = answered.get(approval.input_request_id)
            reasons = {str(vote.user): vote.reason for vote in mine if vote.reason}
            beside = [question, answer, reasons or None]
        yield [*_plain(approval, mine), *beside]


def _votes(lines: list[Approval]) -> dict[Any, list[Vote]]:
    found: dict[Any, list[Vote]] = {}
    of_these = Vote.objects.filter(approval__in=[line.pk for line in lines])
    for vote in of_these.select_related("user").order_by("at", "pk"):
        found.setdefault(vote.approval_id, []).append(vote)
    return found


def _asked(lines: list[Approval], sealed: bool) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """What the server asked, and what it was answered, by the question's id."""
    if not sealed:
        return {}, {}
    requests = InputRequest.objects.filter(approval__in=[line.pk for line in lines])
    answers = Delivery.objects.filter(input_request__in=requests)
    return (
        dict(requests.values_list("pk", "params")),
        dict(answers.values_list("input_request_id", "response")),
    )


def _plain(approval: Approval, votes: list[Vote]) -> list[Any]:
    decider = approval.decided_by
    return [
        *(approval.pk, approval.operation_id, approval.kind, approval.server.name),
        *(approval.tool_name, approval.operation.starter, approval.audience),
        *(approval.four_eyes, approval.state, approval.decision or None),
        *(str(decider) if decider else None, "; ".join(f"{v.user}: {v.choice}" for v in votes)),
        *(approval.created_at, approval.closed_at, approval.took_ms),
    ]


APPROVALS: Final = Subject(
    name="approvals",
    columns=_COLUMNS,
    sealed=_SEALED,
    order=Order("created_at", descending=False),
    clean=_clean,
    means=ApprovalFilters.means,
    rows=_rows,
    values=_values,
)
