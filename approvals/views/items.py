"""One item: its page, and the parts of it that change by themselves."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from approvals import beside, looks
from approvals.models import Approval, Kind
from approvals.views.doors import (
    DETAIL,
    context_of,
    detail,
    door,
    page,
    shown_of,
    story_of,
    switch_team,
)
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.guard import MemberRequest, member_required

#: What browsers say of a page that they fetch before anybody has asked for it.
_AHEAD = ("Sec-Purpose", "Purpose", "X-Moz", "X-Purpose")


@require_safe
@member_required()
def inbox_item(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """One item, in whichever of the person's teams it is."""
    member, approval = door(request, approval_id)
    if _is_opened(request):
        looks.note(approval, member=member, now=timezone.now())
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
    shown = shown_of(member, approval, live_parts_only=True)
    template = "gate_live.html" if approval.kind == Kind.GATE else "live.html"
    return render(request, f"approvals/{template}", {"item": shown, **story_of(shown)})


@require_safe
@member_required()
def inbox_item_beside(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """The other questions of the same operation, as they are now."""
    member, approval = door(request, approval_id)
    return render(request, "approvals/beside.html", _beside(member, approval))


def _is_opened(request: MemberRequest) -> bool:
    """Whether a person opens it: no browser that fetches ahead, and no page that refreshes itself.

    htmx names the element that somebody used; a refresh after a live change names none.
    """
    if request.method != "GET" or any("prefetch" in request.headers.get(h, "") for h in _AHEAD):
        return False
    return not request.htmx or bool(request.htmx.trigger)


def _beside(member: Member, approval: Approval) -> dict[str, object]:
    return {"approval": approval, "beside": beside.of(approval, member, timezone.now())}
