"""The health page: when what has to run was last at work, and what waits for it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, Min
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.models import AT_ONCE, Approval, ApprovalState
from mcpdesk.accounts.access import Member, in_team
from mcpdesk.accounts.guard import MemberRequest, member_required
from tasks_monitor.engine.heartbeat import EXPECTED, MAX_SILENCE, beats
from tasks_monitor.models import Operation


@dataclass(frozen=True, slots=True)
class Work:
    """One kind of work that has to be done: when it was last seen (UTC), None: never."""

    subject: str
    consequence: str
    last_seen: datetime | None
    is_silent: bool


@require_safe
@member_required()
def desk_health(request: MemberRequest) -> HttpResponse:
    """For people; programs ask /health/ and `./desk healthy`."""
    now = datetime.now(UTC)
    context = {
        "work": _work(now),
        "operations": _due_operations(request.member, now),
        "items": _due_items(request.member, now),
    }
    template = "web/health.html"
    return render(request, f"{template}#live" if request.htmx else template, context)


def _work(now: datetime) -> list[Work]:
    return [
        Work(*EXPECTED[process], last, last is None or now - last > MAX_SILENCE)
        for process, last in beats().items()
    ]


def _due_operations(member: Member, now: datetime) -> dict[str, Any]:
    """How many of the team's operations a worker could take now, and since when the oldest."""
    due = in_team(member, Operation.objects.filter(due_at__lte=now))
    return due.aggregate(count=Count("pk"), oldest=Min("due_at"))


def _due_items(member: Member, now: datetime) -> dict[str, Any]:
    """The same for the open items that the clock is to look at; new ones count without a time."""
    due = in_team(member, Approval.objects.filter(state=ApprovalState.OPEN, look_at__lte=now))
    found = due.aggregate(count=Count("pk"), oldest=Min("look_at"))
    return {**found, "oldest": None if found["oldest"] == AT_ONCE else found["oldest"]}
