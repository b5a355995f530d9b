"""One item: its page, and the parts of it that change by themselves."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from approvals import gate_item, item, selectors
from approvals.models import Kind
from approvals.views.doors import DETAIL, context_of, detail, door, page, switch_team
from mcpdesk.accounts.guard import MemberRequest, member_required


@require_safe
@member_required()
def inbox_item(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """One item, in whichever of the person's teams it is."""
    member, approval = door(request, approval_id)
    if request.htmx.target == DETAIL:
        return detail(request, context_of(member, approval))
    if member.team_id != request.member.team_id:
        switch_team(request, member)
    return page(request, context_of(member, approval))


@require_safe
@member_required()
def inbox_item_live(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """The parts of an item's page that change by themselves; never its form."""
    member, approval = door(request, approval_id)
    now, events = timezone.now(), selectors.timeline(approval)
    if approval.kind == Kind.GATE:
        context = {"item": gate_item.of(member, approval, now), "events": events}
        return render(request, "approvals/gate_live.html", context)
    shown = item.of(member, approval, now, live_parts_only=True)
    return render(request, "approvals/live.html", {"item": shown, "events": events})
