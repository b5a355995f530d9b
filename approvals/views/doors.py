"""The way to an item, and how it is shown: what the views of this package share."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django_htmx.http import push_url, trigger_client_event

from approvals import beside, gate_item, item, question, selectors, story
from approvals.item import Attempt
from approvals.listing import list_of
from approvals.models import Approval, Kind, Shape
from approvals.question import Question
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.guard import MemberRequest
from mcpdesk.accounts.sessions import TEAM_KEY
from mcpdesk.notify import selectors as notices_sent

INBOX = "approvals/inbox.html"
DETAIL = "inbox-detail"


def door(request: MemberRequest, approval_id: UUID) -> tuple[Member, Approval]:
    """The one way to an item: it exists for the members of its team, and for nobody else."""
    found = selectors.find(request.memberships, approval_id)
    if found is None:
        raise Http404
    return found


def switch_team(request: MemberRequest, member: Member) -> None:
    """A link to another team's item opens that team, so that the whole page speaks of it."""
    request.session[TEAM_KEY] = member.team_id
    request.member = member
    messages.info(request, f"You are now looking at {member.team}, the team of this item.")


def asked_of(member: Member, approval: Approval) -> Question:
    """The question, or one without fields for those who may not read it."""
    may_read = access.may_see_payload(member, approval.operation)
    if approval.input_request is None or not may_read:
        return Question(Shape.UNOFFERED)
    return question.read(approval.input_request)


def shown_of(
    member: Member,
    approval: Approval,
    attempt: Attempt | None = None,
    *,
    live_parts_only: bool = False,
) -> item.Item | gate_item.GateItem:
    """The item as this member sees it now, after `attempt` if an answer was just refused."""
    now = timezone.now()
    if approval.kind == Kind.GATE:
        return gate_item.of(member, approval, now, live_parts_only=live_parts_only)
    return item.of(member, approval, now, attempt, live_parts_only=live_parts_only)


def context_of(
    member: Member, approval: Approval, attempt: Attempt | None = None
) -> dict[str, Any]:
    """What the templates of an item show."""
    others = [] if approval.kind == Kind.GATE else beside.of(approval, member, timezone.now())
    shown = shown_of(member, approval, attempt)
    return {"item": shown, "beside": others, **story_of(shown)}


def story_of(shown: item.Item | gate_item.GateItem) -> dict[str, Any]:
    """The timeline, and the messages about the item that this member sees."""
    events = selectors.timeline(shown.approval)
    return {
        "lines": story.lines(events, shown.votes, shown.counted_version),
        "told": notices_sent.of_approval(shown.member, shown.approval.pk),
    }


def page(request: MemberRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """An item's page: the item, and the list beside it where there is room."""
    everything = {**list_of(request), **context, "item_chosen": True}
    return render(request, INBOX, everything, status=status)


def detail(request: MemberRequest, context: dict[str, Any]) -> HttpResponse:
    """The item alone, for the column of a page that is open; its address goes along."""
    response = render(request, "approvals/detail.html", context)
    if request.method == "GET" and _page_around(request) != request.get_full_path():
        push_url(response, request.get_full_path())
    return trigger_client_event(response, "inbox-changed")


def _page_around(request: MemberRequest) -> str | None:
    """The address of the page that asks for a part, as htmx says it; None where that is none."""
    try:
        return request.htmx.current_url_abs_path
    except ValueError:
        return None
