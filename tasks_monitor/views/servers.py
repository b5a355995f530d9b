"""Pages of servers: the list, one server with what was found there, adding and changing."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit.log import Actor
from mcpdesk.http.addresses import IS_PRIVATE
from tasks_monitor import selectors, wording
from tasks_monitor.engine import servers as engine
from tasks_monitor.engine.errors import Refused
from tasks_monitor.forms import ServerChangeForm, ServerForm
from tasks_monitor.models import Server

_KEPT = (
    "name",
    "identity",
    "auth_kind",
    "allow_private",
    "questions_to",
    "paused",
    "max_in_flight",
    "call_timeout_s",
)


@require_safe
@member_required()
def server_list(request: MemberRequest) -> HttpResponse:
    """The team's servers with their health."""
    rows = [{"server": s, "host": wording.host(s)} for s in selectors.servers(request.member)]
    context = {
        "rows": rows,
        "now": datetime.now(UTC),
        "may_change": request.member.may(Permission.ADMINISTER),
        "may_stop": request.member.may(Permission.OPERATE),
    }
    template = "tasks_monitor/servers.html"
    return render(request, f"{template}#list" if request.htmx else template, context)


@require_safe
@member_required()
def server(request: MemberRequest, pk: int) -> HttpResponse:
    """One server: health, what the last test found, its tools."""
    found = _find(request, pk)
    search = request.GET.get("q", "")
    kept = selectors.found_at(found, search)
    context = {
        "server": found,
        "host": wording.host(found),
        "advice": _advice(found),
        "discovery": kept.discovery,
        "tools": kept.tools,
        "is_lost": kept.is_lost,
        "has_lost_credential": selectors.has_lost_credential(found),
        "left_out": sum(bool(tool.problem) for tool in kept.tools),
        "search": search,
        "now": datetime.now(UTC),
        "refresh_url": request.get_full_path(),
        "may_change": request.member.may(Permission.ADMINISTER),
        "may_start": request.member.may(Permission.OPERATE),
    }
    template = "tasks_monitor/server.html"
    if request.htmx.target == "server-tools":
        return render(request, f"{template}#tools", context)
    return render(request, f"{template}#live" if request.htmx else template, context)


def _advice(server: Server) -> str:
    """What an admin can do about the problem that the last test found."""
    if server.test_problem != IS_PRIVATE:
        return (
            "When that is mended, under “Change” or on the server itself, press “Test connection”."
        )
    if not settings.ALLOW_PRIVATE_SERVERS:
        return "This desk allows them for no server: see MCPDESK_ALLOW_PRIVATE_SERVERS."
    if server.allow_private:
        return "They have been allowed for it since then: press “Test connection”."
    return (
        "If that is where it is meant to stand, press “Change”, tick “It stands on a private or "
        "local address”, and then press “Test connection”."
    )


def _find(request: MemberRequest, pk: int) -> Server:
    return get_object_or_404(selectors.shown_servers(request.member), pk=pk)


def _who_and_when(request: MemberRequest) -> dict[str, Any]:
    return {"actor": Actor.person(request.member), "now": datetime.now(UTC)}


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def server_new(request: MemberRequest) -> HttpResponse:
    """Add a server, then find out what is there."""
    form = ServerForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            added = engine.add_server(
                team_id=request.member.team_id, **form.values(), **_who_and_when(request)
            )
        except Refused as refusal:
            form.add_error(None, refusal.sentence)
        else:
            return _tested(request, added.pk)
    status = 422 if form.is_bound else 200
    context = {"form": form, "title": "Add a server"}
    return render(request, "tasks_monitor/server_form.html", context, status=status)


@require_http_methods(["GET", "POST"])
@member_required(Permission.ADMINISTER)
def server_edit(request: MemberRequest, pk: int) -> HttpResponse:
    """Change a server; an empty secret keeps the stored one, a typed one replaces it."""
    found = _find(request, pk)
    initial = {name: getattr(found, name) for name in _KEPT}
    form = ServerChangeForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            engine.change_server(found.pk, **form.values(), **_who_and_when(request))
        except Refused as refusal:
            form.add_error(None, refusal.sentence)
        else:
            messages.success(request, "Saved.")
            return redirect("server", found.pk)
    status = 422 if form.is_bound else 200
    context = {
        "form": form,
        "server": found,
        "has_lost_credential": selectors.has_lost_credential(found),
        "title": f"Change {found.name}",
    }
    return render(request, "tasks_monitor/server_form.html", context, status=status)


@require_POST
@member_required(Permission.ADMINISTER)
def server_pause(request: MemberRequest, pk: int) -> HttpResponse:
    """Stop sending to the server, or go on."""
    found = _find(request, pk)
    paused = request.POST.get("paused") == "yes"
    engine.pause_server(found.pk, paused=paused, **_who_and_when(request))
    return redirect("server", found.pk)


@require_POST
@member_required(Permission.ADMINISTER)
def server_test(request: MemberRequest, pk: int) -> HttpResponse:
    """Ask the server who it is and what it offers."""
    return _tested(request, _find(request, pk).pk)


def _tested(request: MemberRequest, pk: int) -> HttpResponse:
    try:
        found = engine.test_server(pk, **_who_and_when(request))
    except Refused as refusal:
        messages.error(request, refusal.sentence)
        return redirect("server", pk)
    if found.test_problem:
        messages.warning(request, f"Tested: {found.test_problem}")
    else:
        messages.success(request, f"Tested: {found.name} answers.")
    return redirect("server", pk)
