"""How long the calls of a server's tools take, and how long they may before somebody is told."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required, require
from mcpdesk.audit.log import Actor
from tasks_monitor import selectors
from tasks_monitor.engine import expect
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Expectation, Server


class LimitForm(forms.Form):
    """A limit for one tool; empty: what is usual counts."""

    tool = forms.CharField(max_length=256, strip=False)
    limit = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=expect.MAX_LIMIT_S,
        error_messages={
            "min_value": "A limit is at least 1 second.",
            "max_value": "A limit is at most 30 days.",
            "invalid": "A limit is a whole number of seconds.",
        },
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One tool: what was learned of it, and what counts."""

    tool_name: str
    expectation: Expectation | None

    @property
    def usual_s(self) -> float | None:
        """The 95th percentile in s, where enough calls ended well."""
        found = self.expectation
        if found is None or found.usual_ms is None or found.samples < expect.ENOUGH:
            return None
        return found.usual_ms / 1000

    @property
    def room(self) -> timedelta | None:
        """After how long somebody is told."""
        return expect.room_for(self.expectation) if self.expectation else None


@require_http_methods(["GET", "POST"])
@member_required()
def durations(request: MemberRequest, pk: int) -> HttpResponse:
    """Every tool with its usual time; admins set limits, one tool at a time."""
    server = get_object_or_404(selectors.shown_servers(request.member), pk=pk)
    if request.method == "POST":
        require(request.member, Permission.ADMINISTER)
        return _set(request, server)
    context = {
        "server": server,
        "rows": _rows(server),
        "enough": expect.ENOUGH,
        "most": expect.MAX_LIMIT_S,
        "may_change": request.member.may(Permission.ADMINISTER),
    }
    return render(request, "tasks_monitor/durations.html", context)


def _rows(server: Server) -> list[Row]:
    known = {found.tool_name: found for found in server.expectations.all()}
    names = server.tools.filter(problem="").values_list("name", flat=True)
    return [Row(name, known.get(name)) for name in names]


def _set(request: MemberRequest, server: Server) -> HttpResponse:
    said = _carry_out(request, request.POST, server)
    if said is None:
        messages.success(request, "Saved. It counts for calls that start from now on.")
    else:
        messages.error(request, f"{said} Nothing was changed.")
    return redirect("server_durations", server.pk)


def _carry_out(request: MemberRequest, data: QueryDict, server: Server) -> str | None:
    """Why nothing was changed, in a sentence; None: it is done."""
    form = LimitForm(data)
    if not form.is_valid():
        return next(str(error) for errors in form.errors.values() for error in errors)
    actor, now = Actor.person(request.member), datetime.now(UTC)
    try:
        expect.set_limit(
            server.pk,
            form.cleaned_data["tool"],
            form.cleaned_data["limit"],
            actor=actor,
            now=now,
        )
    except Refused as refusal:
        return refusal.sentence
    return None
