"""The usual reasons of a team: read by everybody in it, changed by its admins."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from approvals import presets
from approvals.models import Verdict
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required, require
from mcpdesk.audit.log import Actor

TEMPLATE = "approvals/reasons.html"


@require_http_methods(["GET", "HEAD", "POST"])
@member_required()
def reasons(request: MemberRequest) -> HttpResponse:
    """The reasons that are offered on a gate's form, one a line."""
    if request.method == "POST":
        return _save(request)
    found = presets.of(request.member.team_id)
    texts = {verdict: [one.text for one in found if one.verdict == verdict] for verdict in Verdict}
    approve, deny = ("\n".join(texts[verdict]) for verdict in (Verdict.APPROVE, Verdict.DENY))
    return _page(request, approve, deny)


def _save(request: MemberRequest) -> HttpResponse:
    require(request.member, Permission.ADMINISTER)
    approve, deny = request.POST.get("approve", ""), request.POST.get("deny", "")
    refused = presets.replace(
        request.member.team_id,
        approve=approve,
        deny=deny,
        actor=Actor.person(request.member),
        now=timezone.now(),
    )
    if refused is not None:
        return _page(request, approve, deny, problem=refused.sentence, status=422)
    messages.success(request, "Saved.")
    return redirect("reasons")


def _page(
    request: MemberRequest, approve: str, deny: str, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "approve": approve,
        "deny": deny,
        "problem": problem,
        "may_change": request.member.may(Permission.ADMINISTER),
        "reads_history": request.member.may(Permission.READ_HISTORY),
    }
    return render(request, TEMPLATE, context, status=status)
