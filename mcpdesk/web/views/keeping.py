"""The page that says how long a team keeps things, what would go, and what is on legal hold."""

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.models import Membership
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import LegalHold
from mcpdesk.keeping import due, holds, persons, settings
from mcpdesk.keeping.settings import Kept
from mcpdesk.web.keeping_forms import LegalHoldForm, RetentionForm

#: Holds that are over are shown so far back.
_ROWS = 50


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def retention(request: MemberRequest) -> HttpResponse:
    """Set how long things are kept. What would delete something is shown first, and asked again.

    `look` shows it and sets nothing; `confirmed` is the answer to the question.
    """
    team, now = request.member.team, datetime.now(UTC)
    if request.method != "POST":
        return _page(request, _form_of(settings.of(team.pk)))
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    kept = form.kept()
    going = due.going(team, kept.payload_days, kept.log_days, now)
    if "look" in request.POST or (going.anything and "confirmed" not in request.POST):
        asks = "look" not in request.POST
        return _page(request, form, going=going, asks=asks)
    return _set(request, kept, now)


def _set(request: MemberRequest, kept: Kept, now: datetime) -> HttpResponse:
    actor = Actor.person(request.member)
    if settings.change(request.member.team, kept, actor=actor, now=now):
        messages.success(request, "Set. What is older goes within the next minutes.")
    else:
        messages.info(request, "That is how long things are kept already.")
    return redirect("retention")


@require_POST
@member_required(Permission.ADMINISTER)
def hold_begin(request: MemberRequest) -> HttpResponse:
    """Put the team, or one operation, under a legal hold."""
    form = LegalHoldForm(request.POST)
    shown = _form_of(settings.of(request.member.team_id))
    if not form.is_valid():
        return _page(request, shown, hold_form=form, status=422)
    try:
        holds.begin(request.member.team, **form.values(), **_who_and_when(request))
    except Refused as refusal:
        form.add_error(None, refusal.sentence)
        return _page(request, shown, hold_form=form, status=422)
    messages.success(request, "On legal hold: nothing of it is deleted from now on.")
    return redirect("retention")


@require_POST
@member_required(Permission.ADMINISTER)
def hold_end(request: MemberRequest, pk: int) -> HttpResponse:
    """End a legal hold of the team."""
    reason = request.POST.get("reason", "")
    try:
        holds.end(pk, team=request.member.team, reason=reason, **_who_and_when(request))
    except LegalHold.DoesNotExist:
        raise Http404 from None
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    else:
        messages.success(request, "The hold is over. What only it kept goes with the next run.")
    return redirect("retention")


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def erase(request: MemberRequest, pk: int) -> HttpResponse:
    """What erasing a deactivated person would take away; their name, typed, erases them."""
    theirs = Membership.objects.filter(team=request.member.team).select_related("user")
    user = get_object_or_404(theirs, pk=pk).user
    who = _who_and_when(request)
    refused = ""
    try:
        persons.check(user, persons.teams_of(user), **who)
        if request.method == "POST":
            confirmed = request.POST.get("name", "")
            erased = persons.erase(user.pk, confirmed=confirmed, **who)
            messages.success(request, f"Erased. What they decided is kept under “{erased}”.")
            return redirect("team")
    except persons.NotConfirmed as refusal:
        refused = refusal.sentence
    except Refused as refusal:
        messages.error(request, refusal.sentence)
        return redirect("team")
    context = {"person": user, "pk": pk, "going": persons.going(user), "refused": refused}
    return render(request, "keeping/erase.html", context, status=422 if refused else 200)


def _form_of(kept: Kept) -> RetentionForm:
    return RetentionForm(initial={"payload_days": kept.payload_days, "log_days": kept.log_days})


def _page(
    request: MemberRequest, form: RetentionForm, status: int = 200, **more: Any
) -> HttpResponse:
    theirs = LegalHold.objects.filter(team=request.member.team)
    related = theirs.select_related("begun_by", "ended_by")
    operation = request.GET.get("operation", "")
    context = {
        "form": form,
        "hold_form": LegalHoldForm(initial={"operation": operation}),
        "open_holds": related.filter(ended_at__isnull=True),
        "past_holds": related.filter(ended_at__isnull=False).order_by("-ended_at")[:_ROWS],
        **more,
    }
    return render(request, "keeping/retention.html", context, status=status)


def _who_and_when(request: MemberRequest) -> dict[str, Any]:
    return {"actor": Actor.person(request.member), "now": datetime.now(UTC)}
