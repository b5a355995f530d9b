"""Start a tool: choose a server, choose a tool, fill in its form."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from approvals.foresight import Foreseen, foresee
from approvals.gate import Disabled, Requested, request_start
from approvals.policy import explain
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.audit.log import Actor
from mcpdesk.web.forms import StartForm
from mcpdesk.web.starting import ArgumentsForm, empty_form, posted_form
from tasks_monitor import selectors, wording
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Server
from tasks_monitor.selectors import ToolView


@dataclass(frozen=True, slots=True)
class _Chosen:
    server: Server
    tool: ToolView


@require_http_methods(["GET", "POST"])
@member_required(Permission.OPERATE)
def start(request: MemberRequest) -> HttpResponse:
    """The one address of all three steps; what was chosen stands in the URL."""
    server = _server(request)
    if server is None:
        return _choose_server(request)
    name = request.GET.get("tool", "")
    if not name:
        return _choose_tool(request, server)
    chosen = _Chosen(server, _tool(server, name))
    if request.method == "POST":
        return _started(request, chosen)
    form = StartForm(initial={"questions_to": server.questions_to, "key": str(uuid.uuid4())})
    arguments = empty_form(chosen.tool, as_json=request.GET.get("as") == "json")
    return _form_page(request, chosen, form, arguments)


def _server(request: MemberRequest) -> Server | None:
    """The server in the URL; a foreign or unknown one does not exist."""
    wanted = request.GET.get("server", "")
    if not wanted:
        return None
    try:
        pk = int(wanted)
    except ValueError:  # for thousands of digits too
        raise Http404("no such server in this team") from None
    found = selectors.shown_servers(request.member).filter(pk=pk).first()
    if found is None:
        raise Http404("no such server in this team")
    return found


def _tool(server: Server, name: str) -> ToolView:
    row = server.tools.filter(name=name, problem="").first()
    if row is None:
        raise Http404("no such tool that can be called")
    return ToolView.of(row)


def _choose_server(request: MemberRequest) -> HttpResponse:
    rows = [{"server": s, "host": wording.host(s)} for s in selectors.servers(request.member)]
    context = {
        "rows": rows,
        "now": datetime.now(UTC),
        "may_change": request.member.may(Permission.ADMINISTER),
    }
    return render(request, "web/start_server.html", context)


def _choose_tool(request: MemberRequest, server: Server) -> HttpResponse:
    search = request.GET.get("q", "")
    context = {
        "server": server,
        "tools": selectors.tools(server, search),
        "search": search,
        "may_change": request.member.may(Permission.ADMINISTER),
    }
    template = "web/start_tool.html"
    return render(request, f"{template}#tools" if request.htmx else template, context)


def _form_page(
    request: MemberRequest,
    chosen: _Chosen,
    form: StartForm,
    arguments: ArgumentsForm,
    status: int = 200,
    found: Foreseen | None = None,
) -> HttpResponse:
    context = {
        "server": chosen.server,
        "host": wording.host(chosen.server),
        "tool": chosen.tool,
        "form": form,
        "arguments": arguments,
        "found": found,
    }
    return render(request, "web/start_form.html", context, status=status)


def _started(request: MemberRequest, chosen: _Chosen) -> HttpResponse:
    """Start it once; on any mistake the same form again, with nothing lost."""
    form = StartForm(request.POST)
    arguments = posted_form(chosen.tool, request.POST)
    if not form.is_valid() or arguments.arguments is None:
        return _form_page(request, chosen, form, arguments, status=422)
    try:
        if "check" in request.POST:
            # asks the policy, and starts nothing
            call = (chosen.server, chosen.tool.name, arguments.arguments, request.member.user)
            found = foresee(*call, datetime.now(UTC))
            return _form_page(request, chosen, form, arguments, found=found)
        outcome = request_start(
            team_id=request.member.team_id,
            server_id=chosen.server.pk,
            tool_name=chosen.tool.name,
            arguments=arguments.arguments,
            actor=Actor.person(request.member),
            now=datetime.now(UTC),
            **form.values(),
        )
    except Refused as refusal:
        form.add_error(None, refusal.sentence)
        return _form_page(request, chosen, form, arguments, status=422)
    if isinstance(outcome, Disabled):
        form.add_error(None, outcome.sentence)
        return _form_page(request, chosen, form, arguments, status=422)
    _tell(request, outcome)
    return redirect("operation", outcome.operation.pk)


def _tell(request: MemberRequest, made: Requested) -> None:
    if not made.created:
        messages.info(request, "This form was sent before: here is what it started.")
    elif made.approval is not None and made.gate is not None:
        messages.info(request, f"Nothing was sent yet. The policy says: {explain(made.gate)}")
    else:
        before = f" {made.by.created_by} has approved such calls before." if made.by else ""
        messages.success(request, f"Accepted. It is sent as soon as a worker is free.{before}")
