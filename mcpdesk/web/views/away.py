"""The Away page: who is away and who stands in; people set their own, admins everybody's."""

from datetime import UTC, datetime

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.formats import date_format
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.models import Absence
from mcpdesk.web import absences
from mcpdesk.web.away_forms import AwayForm

_NOT_YOURS = "Only they themselves, or an admin of the team, change when somebody is away."


@require_safe
@member_required()
def away(request: MemberRequest) -> HttpResponse:
    """Everybody who is or will be away, and the form for oneself."""
    return _page(request, AwayForm(member=request.member))


@require_POST
@member_required(Permission.DECIDE)
def add(request: MemberRequest) -> HttpResponse:
    """Say that oneself, or for an admin somebody, will be away."""
    form = AwayForm(request.POST, member=request.member)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        made = absences.set_absence(form.away(), member=request.member, now=datetime.now(UTC))
    except Refused as refusal:
        form.add_error(None, refusal.sentence)
        return _page(request, form, status=422)
    return _saved(request, made)


@require_http_methods(["GET", "POST"])
@member_required()
def change(request: MemberRequest, pk: int) -> HttpResponse:
    """Other days, or another stand-in."""
    absence = _own_or_administered(request, pk)
    posted = request.POST if request.method == "POST" else None
    form = AwayForm(posted, member=request.member, absence=absence)
    if form.is_valid():
        wanted, now = form.away(), datetime.now(UTC)
        try:
            made = absences.change_absence(pk, wanted, member=request.member, now=now)
        except Refused as refusal:
            form.add_error(None, refusal.sentence)
        else:
            return _saved(request, made)
    context = {"form": form, "absence": absence}
    return render(request, "web/away_change.html", context, status=422 if form.is_bound else 200)


@require_POST
@member_required()
def end(request: MemberRequest, pk: int) -> HttpResponse:
    """Nobody stands in any more."""
    absence = _own_or_administered(request, pk)
    try:
        absences.end_absence(pk, member=request.member, now=datetime.now(UTC))
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    else:
        messages.success(request, f"{absence.stand_in} no longer stands in for {absence.user}.")
    return redirect("away")


def _own_or_administered(request: MemberRequest, pk: int) -> Absence:
    """An absence of the team, if this person may change it; everybody in the team knows of it."""
    rows = request.member.team.absences.select_related("user", "stand_in")
    absence = get_object_or_404(rows, pk=pk)
    if not absences.may_change(request.member, absence):
        raise PermissionDenied(_NOT_YOURS)
    return absence


def _saved(request: MemberRequest, absence: Absence) -> HttpResponse:
    first, last = (date_format(day, "j M Y") for day in absences.days_of(absence))
    messages.success(
        request,
        f"{absence.user} is away from {first} to {last}; {absence.stand_in} stands in.",
    )
    if absences.is_away_too(absence):
        messages.warning(
            request,
            f"{absence.stand_in} is away on some of these days as well: nobody stands in for a "
            "stand-in.",
        )
    return redirect("away")


def _page(request: MemberRequest, form: AwayForm, status: int = 200) -> HttpResponse:
    member, now = request.member, datetime.now(UTC)
    context = {
        "rows": absences.listed(member, now),
        "form": form,
        "may_set": member.may(Permission.DECIDE),
    }
    return render(request, "web/away.html", context, status=status)
