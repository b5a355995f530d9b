"""The pages of remembered approvals: everybody in the team reads them, few take one back."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from approvals import remembered as verbs
from approvals.models import Approval, Remembered
from approvals.remembered_form import RememberForm
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required

A_PAGE = 50


@dataclass(frozen=True, slots=True)
class Line:
    """One remembered approval of the list."""

    one: Remembered
    may_revoke: bool
    is_over: bool


@require_safe
@member_required()
def remembered(request: MemberRequest) -> HttpResponse:
    """Those in force; with `over` in the address those that ended, by themselves or taken back."""
    now = timezone.now()
    over = "over" in request.GET
    team_id = request.member.team_id
    found = verbs.over(team_id, now) if over else verbs.in_force(team_id, now)
    page = Paginator(found, A_PAGE).get_page(request.GET.get("page"))
    lines = [_line(request, one, now) for one in page]
    context = {
        "lines": lines,
        "page": page,
        "over": over,
        "reads_history": request.member.may(Permission.READ_HISTORY),
    }
    return render(request, "approvals/remembered.html", context)


@require_POST
@member_required()
def revoke(request: MemberRequest, pk: int) -> HttpResponse:
    """Take one back."""
    if not access.in_team(request.member, Remembered.objects.filter(pk=pk)).exists():
        raise Http404("no such remembered approval in this team")
    try:
        verbs.revoke(pk, member=request.member, now=timezone.now())
    except Refused as refused:
        messages.error(request, refused.sentence)
    else:
        messages.success(request, "Taken back. The next such call asks again.")
    return redirect("remembered")


@require_POST
@member_required()
def leave(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Have the approval remembered that this person has just given."""
    mine = access.in_team(request.member, Approval.objects.filter(pk=approval_id))
    if not mine.exists():
        raise Http404("no such item in this team")
    form = RememberForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Say for which calls, and for how long. Nothing is remembered.")
        return redirect("inbox_item", approval_id)
    try:
        verbs.remember(approval_id, member=request.member, scope=form.scope(), now=timezone.now())
    except Refused as refused:
        messages.error(request, refused.sentence)
    else:
        messages.success(request, "Remembered. It is listed under Policies, and taken back there.")
    return redirect("inbox_item", approval_id)


def _line(request: MemberRequest, one: Remembered, now: datetime) -> Line:
    is_over = one.revoked_at is not None or one.ends_at <= now
    return Line(one, not is_over and verbs.may_revoke(request.member, one), is_over)
