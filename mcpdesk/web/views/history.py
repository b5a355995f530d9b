"""The history: every operation and every approval of the team, for auditors and admins."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from approvals import history as approval_history
from approvals import saved_filters
from approvals.history_filters import DECISIONS, ApprovalFilters
from approvals.models import ApprovalState, Kind, ListPlace
from approvals.outcomes import Refused
from approvals.selectors import servers, starters
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.keyset import Slice
from tasks_monitor import history as operation_history
from tasks_monitor import wording
from tasks_monitor.history_filters import (
    OUTCOME_LABELS,
    HistoryFilters,
    OperationFilters,
    Sort,
)
from tasks_monitor.models import Operation
from tasks_monitor.states import State

_COUNTED = 1000
_FILTERS: dict[str, type[HistoryFilters]] = {
    ListPlace.OPERATIONS: OperationFilters,
    ListPlace.APPROVALS: ApprovalFilters,
}
_PAGES = {ListPlace.OPERATIONS: "history", ListPlace.APPROVALS: "history_approvals"}
_SORTS = ((Sort.NEWEST, "Newest first"), (Sort.OLDEST, "Oldest first"), (Sort.LONGEST, "Longest"))


@require_safe
@member_required(Permission.READ_HISTORY)
def operations(request: MemberRequest) -> HttpResponse:
    """All operations of the team."""
    filters = OperationFilters.read(request.GET.dict())
    at = request.GET.get("at", "")
    found = operation_history.page(request.member, filters, at, count_to=_COUNTED)
    context = {
        **_list(request, ListPlace.OPERATIONS, filters, found),
        **_count(found, lambda: operation_history.count_up_to(request.member, filters, _COUNTED)),
        "rows": [_row(operation) for operation in found.rows],
        "states": State.choices,
        "outcomes": list(OUTCOME_LABELS.items()),
    }
    return render(request, "web/history.html", context)


@require_safe
@member_required(Permission.READ_HISTORY)
def approvals(request: MemberRequest) -> HttpResponse:
    """All approvals of the team."""
    filters = ApprovalFilters.read(request.GET.dict())
    at = request.GET.get("at", "")
    found = approval_history.page(request.member, filters, at, count_to=_COUNTED)
    context = {
        **_list(request, ListPlace.APPROVALS, filters, found),
        **_count(found, lambda: approval_history.count_up_to(request.member, filters, _COUNTED)),
        "rows": found.rows,
        "states": ApprovalState.choices,
        "kinds": Kind.choices,
        "decisions": DECISIONS,
    }
    return render(request, "web/history_approvals.html", context)


@require_POST
@member_required(Permission.READ_HISTORY)
def save(request: MemberRequest, place: str) -> HttpResponse:
    """Keep the list that the address names, and go back to it."""
    if place not in _FILTERS:
        raise Http404
    query = _FILTERS[place].read(request.GET.dict()).query
    outcome = saved_filters.save(
        request.member,
        name=request.POST.get("name", ""),
        query=query,
        for_team=request.POST.get("for_team") == "on",
        now=timezone.now(),
        place=ListPlace(place),
    )
    if isinstance(outcome, Refused):
        messages.error(request, outcome.sentence)
    else:
        messages.success(request, f"The list “{outcome.name}” is saved.")
    return redirect(f"{reverse(_PAGES[ListPlace(place)])}?{query}")


def _list(
    request: MemberRequest, place: ListPlace, filters: HistoryFilters, found: Slice[Any]
) -> dict[str, Any]:
    """What both lists show around their rows."""
    member = request.member
    return {
        "place": place,
        "page": _PAGES[place],
        "filters": filters,
        "left_out": filters.left_out(request.GET.dict()),
        "newer": _at(filters, found.before),
        "older": _at(filters, found.after),
        "servers": [(str(server.pk), server.name) for server in servers(member)],
        "people": [(str(person.pk), str(person)) for person in starters(member)],
        "sorts": _SORTS,
        "saved_filters": saved_filters.of(member, place),
        "may_keep_ours": member.may(Permission.ADMINISTER),
    }


def _count(found: Slice[Any], count_up_to: Callable[[], int]) -> dict[str, Any]:
    """How many rows there are, in words; counted apart only where finding them did not tell."""
    whole = not (found.before or found.after)
    count = len(found.rows) if whole else found.count
    count = count_up_to() if count is None else count
    words = f"{_COUNTED:,}+" if count > _COUNTED else f"{count:,}"
    return {"count": words, "count_one": count == 1}


def _at(filters: HistoryFilters, cursor: str) -> str:
    """The query of the page at a cursor; empty: there is none."""
    return f"?{urlencode([*filters.fields, ('at', cursor)])}" if cursor else ""


def _row(operation: Operation) -> dict[str, Any]:
    return {
        "operation": operation,
        "tone": wording.tone(operation),
        "outcome": wording.outcome(operation),
    }
