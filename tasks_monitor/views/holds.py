"""Pages of the kill switch: stop sending, and go on. What is on hold is said on every page."""

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from mcpdesk.accounts.access import Permission, in_team
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit.log import Actor
from tasks_monitor import selectors
from tasks_monitor.engine import hold as engine
from tasks_monitor.engine.errors import Refused
from tasks_monitor.forms import HoldForm
from tasks_monitor.models import Hold, Server


def _who_and_when(request: MemberRequest) -> dict[str, Any]:
    return {"actor": Actor.person(request.member), "now": datetime.now(UTC)}


#: Said when a hold ends; true also where nothing waited, or another hold goes on.
OVER = "This hold is over. What waited only for it goes out as soon as a worker is free."


@require_http_methods(["GET", "POST"])
@member_required(Permission.OPERATE)
def hold_new(request: MemberRequest) -> HttpResponse:
    """Stop sending: to the server that `server` names, or to every server of the team.

    Whoever may start operations may stop them.
    """
    server = _server(request)
    form = HoldForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            engine.begin(
                request.member.team_id,
                server.pk if server else None,
                reason=form.cleaned_data["reason"],
                **_who_and_when(request),
            )
        except Refused as refusal:
            form.add_error(None, refusal.sentence)
        else:
            messages.success(request, "Nothing is sent any more.")
            return redirect("server", server.pk) if server else redirect("servers")
    context = {"form": form, "server": server}
    status = 422 if form.is_bound else 200
    return render(request, "tasks_monitor/hold_new.html", context, status=status)


def _server(request: MemberRequest) -> Server | None:
    wanted = request.GET.get("server", "")
    if not wanted:
        return None
    pk = int(wanted) if wanted.isascii() and wanted.isdecimal() and len(wanted) < 19 else 0
    return get_object_or_404(selectors.shown_servers(request.member), pk=pk)


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def hold_end(request: MemberRequest, pk: int) -> HttpResponse:
    """What would be sent at once, and the button that lets it go."""
    related = Hold.objects.select_related("server", "begun_by", "ended_by")
    shown = related.defer("server__credential", "server__discovery")
    found = get_object_or_404(in_team(request.member, shown), pk=pk)
    if request.method == "POST":
        try:
            engine.end(found.pk, **_who_and_when(request))
        except Refused as refusal:
            messages.info(request, refusal.sentence)
        else:
            messages.success(request, OVER)
        return redirect("servers")
    context = {"hold": found, "waiting": selectors.held_back(found)}
    return render(request, "tasks_monitor/hold_end.html", context)
