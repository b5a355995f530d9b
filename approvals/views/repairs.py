"""The page on which operators say what becomes of an operation that the desk cannot follow."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_POST

from approvals import repair, repairable
from approvals.repair import Done, Proposed
from approvals.repair_form import RepairForm
from approvals.templatetags.theirs import written_out
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from tasks_monitor import selectors
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.reconcile import Choice, Followed
from tasks_monitor.models import Operation, Repair

_PAGE = "approvals/repair.html"
_CAME_TO: Final = {
    Choice.SEND_AGAIN: "The call is sent again.",
    Choice.ATTACH_TASK: "Attached: it is checked now.",
    Choice.RECORD_DONE: "Recorded as done.",
    Choice.RECORD_FAILED: "Recorded as failed.",
}
_REFUSED: Final = "Refused. Nothing was done to the operation."
_TAKEN_BACK: Final = "Taken back. Nothing was done to the operation."
_GONE = (Operation.DoesNotExist, Repair.DoesNotExist)


@require_http_methods(["GET", "HEAD", "POST"])
@member_required(Permission.RECONCILE)
def reconcile(request: MemberRequest, pk: UUID) -> HttpResponse:
    """What is known, what is not, what can be done about it, and what was done before."""
    found = _find(request, pk)
    form = RepairForm(request.POST or None)
    if request.method != "POST":
        return _page(request, found, form)
    if not form.is_valid():
        return _page(request, found, form, status=422)
    try:
        came_to = repair.propose(
            found.pk,
            member=request.member,
            wish=form.wish(),
            now=timezone.now(),
            seen=_seen(request),
        )
    except _GONE:
        raise Http404 from None
    except Followed as refusal:
        form.add_error("task_id", _named(request, refusal))
        return _page(request, _find(request, pk), form, status=422)
    except Refused as refusal:
        form.add_error(None, refusal.sentence)
        return _page(request, _find(request, pk), form, status=422)
    messages.success(request, _said(came_to, form.wish().choice))
    return redirect("operation_reconcile" if isinstance(came_to, Proposed) else "operation", pk)


@require_POST
@member_required(Permission.RECONCILE)
def agree(request: MemberRequest, pk: UUID, repair_id: int) -> HttpResponse:
    """The second person has it carried out."""
    return _decide(request, pk, repair_id, repair.agree, "")


@require_POST
@member_required(Permission.RECONCILE)
def refuse(request: MemberRequest, pk: UUID, repair_id: int) -> HttpResponse:
    """The second person refuses it, with a reason."""
    reason = request.POST.get("reason", "")
    return _decide(request, pk, repair_id, repair.refuse, _REFUSED, reason=reason)


@require_POST
@member_required(Permission.RECONCILE)
def take_back(request: MemberRequest, pk: UUID, repair_id: int) -> HttpResponse:
    """Whoever proposed it takes it back."""
    return _decide(request, pk, repair_id, repair.take_back, _TAKEN_BACK)


def _decide(
    request: MemberRequest,
    pk: UUID,
    repair_id: int,
    verb: Callable[..., Done | None],
    left_alone: str,
    **more: str,
) -> HttpResponse:
    found = get_object_or_404(Repair, pk=repair_id, operation_id=pk)
    try:
        came_to = verb(
            repair_id, member=request.member, now=timezone.now(), seen=_seen(request), **more
        )
    except _GONE:
        raise Http404 from None
    except Refused as refusal:
        messages.error(request, refusal.sentence)
        return redirect("operation_reconcile", pk)
    messages.success(request, _said(came_to, Choice(found.choice)) if came_to else left_alone)
    return redirect("operation" if came_to else "operation_reconcile", pk)


def _named(request: MemberRequest, refusal: Followed) -> str:
    """The refusal, with a link to the operation where the member may know of it."""
    other = selectors.shown_operations(request.member).filter(pk=refusal.operation.pk).first()
    if other is None:
        return refusal.sentence
    place = reverse("operation", args=[other.pk])
    link = format_html('<a href="{}">{}</a>', place, written_out(other.tool_name))
    return format_html("{} It is {}.", refusal.sentence, link)


def _said(came_to: Done | Proposed, choice: Choice) -> str:
    if isinstance(came_to, Proposed):
        return "Proposed. Nothing is done until a second person agrees."
    if came_to.asks:
        return "The call waits for approval before it is sent again."
    return _CAME_TO[choice]


def _find(request: MemberRequest, pk: UUID) -> Operation:
    return get_object_or_404(selectors.shown_operations(request.member), pk=pk)


def _page(
    request: MemberRequest, found: Operation, form: RepairForm, status: int = 200
) -> HttpResponse:
    context = {
        "operation": found,
        "server": found.server,
        "about": repairable.read(found),
        "form": form,
    }
    return render(request, _PAGE, context, status=status)


def _seen(request: MemberRequest) -> str | None:
    """What the form was made for; a form that does not say so is carried out as things are."""
    return request.POST.get("seen") or None
