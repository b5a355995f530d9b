"""Pages of operations: the list, one operation, and what people may do to it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit.log import Actor
from tasks_monitor import result_blocks, selectors, wording
from tasks_monitor.engine.adopt import adopt as adopt_task
from tasks_monitor.engine.cancel import request_cancel
from tasks_monitor.engine.checknow import check_now
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.reconcile import Choice
from tasks_monitor.engine.reconcile import reconcile as reconcile_operation
from tasks_monitor.filters import OperationFilter
from tasks_monitor.forms import CONSEQUENCES, AdoptForm, ReconcileForm
from tasks_monitor.models import InputRequestState, Operation
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State

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


@require_safe
@member_required()
def operation(request: MemberRequest, pk: UUID) -> HttpResponse:
    """One operation; its two live regions are asked for by their ids."""
    found = _find(request, pk)
    template = "tasks_monitor/operation.html"
    if request.htmx and request.htmx.target == "operation-actions":
        return render(request, f"{template}#actions", _actions(request, found, ReconcileForm()))
    if request.htmx:
        return render(request, f"{template}#live", _facts(request, found))
    return _page(request, found, ReconcileForm())


def _find(request: MemberRequest, pk: UUID) -> Operation:
    return get_object_or_404(selectors.shown_operations(request.member), pk=pk)


def _page(
    request: MemberRequest, found: Operation, form: ReconcileForm, status: int = 200
) -> HttpResponse:
    context = {**_facts(request, found), **_actions(request, found, form)}
    return render(request, "tasks_monitor/operation.html", context, status=status)


def _facts(request: MemberRequest, found: Operation) -> dict[str, Any]:
    """What is known of the operation, as far as this member may see it."""
    questions = selectors.questions(found)
    payload = selectors.payload_for(request.member, found)
    return {
        "operation": found,
        "server": found.server,
        "host": wording.host(found.server),
        "tone": wording.tone(found),
        "outcome": wording.outcome(found),
        "waits_for": wording.waits_for(found, questions),
        "waiting_since": _waiting_since(questions),
        "ended": State(found.state) in TERMINAL,
        "needs_operator": State(found.state) in NEEDS_OPERATOR,
        "payload": payload,
        "blocks": result_blocks.blocks(payload.result) if payload and payload.result else [],
        "questions": questions,
        "events": selectors.timeline(found),
    }


def _waiting_since(questions: list[Any]) -> datetime | None:
    opened = [q.opened_at for q in questions if q.state == InputRequestState.OPEN]
    return min(opened, default=None)


def _actions(request: MemberRequest, found: Operation, form: ReconcileForm) -> dict[str, Any]:
    state = State(found.state)
    may = request.member.may(Permission.OPERATE)
    reconciles = may and state in NEEDS_OPERATOR
    cancellable = state not in TERMINAL and (state not in NEEDS_OPERATOR or found.has_task)
    return {
        "operation": found,
        "may_cancel": may and cancellable and state != State.LOST and not found.cancel_requested_at,
        "may_check": may and found.has_task and state not in TERMINAL,
        "reconcile_form": form if reconciles else None,
        "choices": [
            (choice.value, words, consequence)
            for choice, (words, consequence) in CONSEQUENCES.items()
            if choice is not Choice.SEND_AGAIN or not found.adopted
        ],
    }


@require_safe
@member_required()
def result_file(request: MemberRequest, pk: UUID) -> HttpResponse:
    """The whole result as it came, to keep: nothing is cut here."""
    payload = selectors.payload_for(request.member, _find(request, pk))
    if payload is None or payload.result is None:
        raise Http404("no result that this member may see")
    response = JsonResponse(payload.result, safe=False, json_dumps_params={"indent": 2})
    response["Content-Disposition"] = f'attachment; filename="result-{pk}.json"'
    return response


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
    found = _find(request, pk)
    try:
        verb(found.pk, actor=Actor.person(request.member), now=datetime.now(UTC))
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    else:
        messages.success(request, done)
    return redirect("operation", found.pk)


@require_POST
@member_required(Permission.OPERATE)
def reconcile(request: MemberRequest, pk: UUID) -> HttpResponse:
    """Carry out what an operator decided about a lost, stuck or unknown operation."""
    found = _find(request, pk)
    form = ReconcileForm(request.POST)
    if not form.is_valid():
        return _page(request, found, form, status=422)
    try:
        reconcile_operation(
            found.pk,
            choice=Choice(form.cleaned_data["choice"]),
            reason=form.cleaned_data["reason"],
            task_id=form.cleaned_data["task_id"] or None,
            actor=Actor.person(request.member),
            now=datetime.now(UTC),
        )
    except Refused as refusal:
        form.add_error(None, refusal.sentence)
        return _page(request, _find(request, pk), form, status=422)
    messages.success(request, "Recorded.")
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
