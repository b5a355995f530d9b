"""Exports: begin one, watch how far it has come, take the file, go on where it broke off."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from approvals.history_export import APPROVALS
from mcpdesk.accounts.access import Permission, still_may
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit import exports
from mcpdesk.audit.exports import NoSuchRow, Subject
from mcpdesk.audit.locks import Busy
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Export, ExportFormat
from tasks_monitor.event_export import EVENTS
from tasks_monitor.history_export import OPERATIONS

SUBJECTS: dict[str, Subject] = {one.name: one for one in (OPERATIONS, APPROVALS, EVENTS)}
_SHOWN = 50
_TYPES = {
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.NDJSON: "application/x-ndjson",
}


@require_safe
@member_required(Permission.READ_HISTORY)
def export_list(request: MemberRequest) -> HttpResponse:
    """The team's last exports: whose, of what, how far they came."""
    of_team = Export.objects.filter(team=request.member.team_id).select_related("user")
    return render(request, "web/exports.html", {"exports": of_team[:_SHOWN]})


@require_POST
@member_required(Permission.READ_HISTORY)
def begin(request: MemberRequest, subject: str) -> HttpResponse:
    """Put down what is exported: the list that the address names."""
    if subject not in SUBJECTS:
        raise Http404
    format = request.POST.get("format", "")
    export = exports.begin(
        request.member,
        SUBJECTS[subject],
        ExportFormat(format) if format in ExportFormat.values else ExportFormat.CSV,
        request.GET.dict(),
        actor=Actor.person(request.member),
        now=datetime.now(UTC),
        payloads=request.POST.get("payloads") == "on",
    )
    return redirect("export", export.pk)


@require_safe
@member_required(Permission.READ_HISTORY)
def export(request: MemberRequest, pk: UUID) -> HttpResponse:
    """One export. While it runs the page asks again by itself how far it has come."""
    context = _shown(_find(request, pk))
    template = "web/export.html"
    return render(request, f"{template}#progress" if request.htmx else template, context)


@require_POST
@member_required(Permission.READ_HISTORY)
def file(request: MemberRequest, pk: UUID) -> HttpResponseBase:
    """The file, for whoever began it; with `after` only what is behind the row with that id."""
    found = get_object_or_404(_of_team(request), pk=pk, user=request.member.user_id)
    member = request.member

    try:
        parts = exports.stream(
            found,
            member,
            SUBJECTS[found.subject],
            actor=Actor.person(member),
            after=request.POST.get("after", "").strip(),
            still_may=lambda: still_may(member, Permission.READ_HISTORY),
        )
    except NoSuchRow:
        raise Http404("no row of this export") from None
    except Busy:
        messages.error(request, exports.BUSY)
        return redirect("export", found.pk)
    response = StreamingHttpResponse(parts, content_type=_TYPES[ExportFormat(found.format)])
    response["Content-Disposition"] = f'attachment; filename="{_name(found)}"'
    response["Cache-Control"] = "no-store"
    return response


def _of_team(request: MemberRequest) -> Any:
    return Export.objects.filter(team=request.member.team_id, subject__in=SUBJECTS)


def _find(request: MemberRequest, pk: UUID) -> Export:
    found: Export = get_object_or_404(_of_team(request).select_related("user"), pk=pk)
    return found


def _shown(export: Export) -> dict[str, Any]:
    begun = export.rows > 0 or export.finished_at is not None
    return {
        "export": export,
        "begun": begun,
        "payloads": exports.has_payloads(export),
        "name": _name(export),
    }


def _name(export: Export) -> str:
    return f"{export.subject}-{export.created_at:%Y%m%d-%H%M%S}.{export.format}"
