"""The page of saved lists: save, rename, delete."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from approvals import saved_filters
from approvals.filters import Chosen
from approvals.models import SavedFilter
from approvals.outcomes import Missing, Refused
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required


@require_safe
@member_required()
def filters(request: MemberRequest) -> HttpResponse:
    """The person's lists and the team's."""
    kept = saved_filters.of(request.member, place=None)
    context = {
        "mine": [one for one in kept if not one.of_team],
        "ours": [one for one in kept if one.of_team],
        "may_keep_ours": request.member.may(Permission.ADMINISTER),
    }
    return render(request, "approvals/saved_filters.html", context)


@require_POST
@member_required()
def save(request: MemberRequest) -> HttpResponse:
    """Keep the list that the address names, and go back to it."""
    chosen = Chosen.read(request.GET).beginning()
    outcome = saved_filters.save(
        request.member,
        name=request.POST.get("name", ""),
        query=chosen.query,
        for_team=request.POST.get("for_team") == "on",
        now=timezone.now(),
    )
    if isinstance(outcome, Refused):
        messages.error(request, outcome.sentence)
    else:
        messages.success(request, f"The list “{outcome.name}” is saved.")
    return redirect(f"{reverse('inbox')}{chosen.suffix}")


@require_POST
@member_required()
def rename(request: MemberRequest, pk: int) -> HttpResponse:
    """Give a list another name."""
    name = request.POST.get("name", "")
    outcome = saved_filters.rename(request.member, pk, name=name, now=timezone.now())
    return _after(request, outcome, "It is called “{}” now.")


@require_POST
@member_required()
def delete(request: MemberRequest, pk: int) -> HttpResponse:
    """Forget a list. What it listed is not touched."""
    outcome = saved_filters.delete(request.member, pk, now=timezone.now())
    return _after(request, outcome, "The list “{}” is deleted.")


def _after(
    request: MemberRequest, outcome: SavedFilter | Missing | Refused, done: str
) -> HttpResponse:
    if isinstance(outcome, Missing):
        raise Http404
    if isinstance(outcome, Refused):
        messages.error(request, outcome.sentence)
    else:
        messages.success(request, done.format(outcome.name))
    return redirect("inbox_filters")
