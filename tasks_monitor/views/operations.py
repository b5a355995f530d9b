"""Pages of operations: the list, and what people may do to one."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit.log import Actor
from tasks_monitor import selectors, wording
from tasks_monitor.engine.adopt import adopt as adopt_task
from tasks_monitor.engine.cancel import request_cancel
from tasks_monitor.engine.checknow import check_now
from tasks_monitor.engine.errors import Refused
from tasks_monitor.filters import OperationFilter
from tasks_monitor.forms import AdoptForm
from tasks_monitor.models import Operation
from tasks_monitor.views.operation import find

_TAB_LABELS = {
    selectors.Tab.OPEN: "Open",
    selectors.Tab.WAITING: "Waiting for people",
    selectors.Tab.ATTENTION: "Needs an operator",
    selectors.Tab.ENDED: "Ended",
    selectors.Tab.ALL: "All",
}


@require_safe
@member_required()
def operation_list(request: MemberRequest) -> HttpResponse:
    """The team's operations, newest first, by tab and filters."""
    tab = _tab(request.GET.get("tab", ""))
    filters = OperationFilter(
        request.GET, selectors.operations(request.member, tab), request=request
    )
    shown = selectors.page(filters.qs, request.GET.get("after", ""))
    context = {
        "tab": tab,
        "tabs": _tabs(request, tab),
        "filters": filters,
        "rows": [_row(operation) for operation in shown.rows],
        "older": _url_with(request, after=shown.after) if shown.after else "",
        "refresh_url": request.get_full_path(),
        "may_operate": request.member.may(Permission.OPERATE),
    }
    template = "tasks_monitor/operations.html"
    return render(request, f"{template}#list" if request.htmx else template, context)


def _tab(wanted: str) -> selectors.Tab:
    return selectors.Tab(wanted) if wanted in list(selectors.Tab) else selectors.Tab.OPEN


def _tabs(request: MemberRequest, tab: selectors.Tab) -> list[dict[str, Any]]:
    counts = selectors.counts(request.member)
    return [
        {
            "label": label,
            "url": _url_with(request, tab=one, after=""),
            "here": one is tab,
            "count": counts.get(one),
        }
        for one, label in _TAB_LABELS.items()
    ]


def _url_with(request: MemberRequest, **changes: str) -> str:
    query = request.GET.copy()
    for name, value in changes.items():
        query[name] = value
        if not value:
            del query[name]
    return f"{request.path}?{query.urlencode()}"


def _row(operation: Operation) -> dict[str, Any]:
    return {
        "operation": operation,
        "tone": wording.tone(operation),
        "outcome": wording.outcome(operation),
        "waits_for": wording.waits_for(operation),
    }


@require_POST
@member_required(Permission.OPERATE)
def cancel(request: MemberRequest, pk: UUID) -> HttpResponse:
    """Ask the server to cancel; it is cancelled when the server says so."""
    return _carry_out(request, pk, request_cancel, "Cancellation asked for.")


@require_POST
@member_required(Permission.OPERATE)
def check(request: MemberRequest, pk: UUID) -> HttpResponse:
    """Look at the task as soon as the server allows."""
    return _carry_out(request, pk, check_now, "The next check comes as soon as the server allows.")


def _carry_out(
    request: MemberRequest, pk: UUID, verb: Callable[..., object], done: str
) -> HttpResponse:
    found = find(request, pk)
    try:
        verb(found.pk, actor=Actor.person(request.member), now=datetime.now(UTC))
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    else:
        messages.success(request, done)
    return redirect("operation", found.pk)


@require_http_methods(["GET", "POST"])
@member_required(Permission.OPERATE)
def adopt(request: MemberRequest) -> HttpResponse:
    """Put a task that another client made under the desk's care."""
    servers = selectors.shown_servers(request.member).order_by("name")
    form = AdoptForm(request.POST or None, servers=servers)
    if request.method == "POST" and form.is_valid():
        cleaned = dict(form.cleaned_data)
        try:
            started = adopt_task(
                team_id=request.member.team_id,
                server_id=cleaned.pop("server").pk,
                actor=Actor.person(request.member),
                now=datetime.now(UTC),
                **cleaned,
            )
        except Refused as refusal:
            form.add_error(None, refusal.sentence)
        else:
            if not started.created:
                messages.info(request, "The desk follows this task already: here it is.")
            return redirect("operation", started.operation.pk)
    status = 422 if form.is_bound else 200
    return render(request, "tasks_monitor/adopt.html", {"form": form}, status=status)
