"""Working on one item together: claim, take over, hand over, comment."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from approvals import claim as claiming
from approvals import comments, hand, outcomes
from approvals.claim import Claimed, Released
from approvals.comments import Commented
from approvals.models import Approval
from approvals.views.doors import door, shown_of
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.guard import MemberRequest, member_required

WORK = "item-work"
TALK = "item-talk"


@require_safe
@member_required()
def work(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """The part of an item's page that says who works on it, as it is now."""
    return _work(request, *door(request, approval_id))


@require_POST
@member_required()
def claim(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Take the item for a while, or give it back with `do=release`."""
    member, _ = door(request, approval_id)
    verb = claiming.release if request.POST.get("do") == "release" else claiming.claim
    outcome = verb(approval_id, member=member, now=timezone.now())
    if request.htmx.target == WORK:
        return _work(request, *door(request, approval_id), problem=_problem(outcome))
    return _told(request, approval_id, outcome)


@require_POST
@member_required()
def take_over(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Take the item from whoever has claimed it, with a note that they read."""
    member, _ = door(request, approval_id)
    why = request.POST.get("note", "")
    outcome = claiming.take_over(approval_id, member=member, reason=why, now=timezone.now())
    return _told(request, approval_id, outcome)


@require_POST
@member_required()
def hand_over(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Hand the item to a colleague who may decide it."""
    member, _ = door(request, approval_id)
    to, words = request.POST.get("to", ""), request.POST.get("note", "")
    outcome = hand.hand(
        approval_id,
        member=member,
        to_user_id=int(to) if to.isascii() and to.isdigit() and len(to) < 19 else 0,
        words=words,
        now=timezone.now(),
    )
    return _told(request, approval_id, outcome)


@require_POST
@member_required()
def comment(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """Say something about the item to colleagues; the server gets nothing of it."""
    member, _ = door(request, approval_id)
    text = request.POST.get("text", "")
    outcome = comments.add(approval_id, member=member, text=text, now=timezone.now())
    if request.htmx.target == TALK:
        return _talk(request, approval_id, outcome)
    return _told(request, approval_id, outcome)


def _work(
    request: MemberRequest, member: Member, approval: Approval, problem: str = ""
) -> HttpResponse:
    shown = shown_of(member, approval, live_parts_only=True)
    context = {"item": shown, "work_problem": problem}
    return render(request, "approvals/work.html", {**context, **_rows(approval)})


def _talk(request: MemberRequest, approval_id: UUID, outcome: comments.Outcome) -> HttpResponse:
    """What was said so far, and the form: empty again once the words are written down."""
    member, approval = door(request, approval_id)
    context: dict[str, Any] = {"item": shown_of(member, approval, live_parts_only=True)}
    if isinstance(outcome, Commented):
        context["talk_note"] = _untold(outcome)
    else:
        context["talk_problem"] = _problem(outcome)
        context["talk_typed"] = request.POST.get("text", "")
    return render(request, "approvals/talk.html", {**context, **_rows(approval)})


def _rows(approval: Approval) -> dict[str, Any]:
    return {"approval": approval, "operation": approval.operation}


def _problem(outcome: object) -> str:
    """Why nothing was done; empty: it was. What is not there for this person is a 404."""
    if isinstance(outcome, outcomes.Missing):
        raise Http404
    return outcome.sentence if isinstance(outcome, outcomes.Refused) else ""


def _told(
    request: MemberRequest,
    approval_id: UUID,
    outcome: claiming.Outcome | hand.Outcome | comments.Outcome,
) -> HttpResponse:
    """Back to the item, with what was done or why not."""
    problem = _problem(outcome)
    if problem:
        messages.error(request, problem)
    else:
        messages.success(request, _done(outcome))
    return redirect("inbox_item", approval_id)


def _done(outcome: claiming.Outcome | hand.Outcome | comments.Outcome) -> str:
    match outcome:
        case Claimed():
            return "It is yours for 15 minutes. Nobody else decides it, unless they take it over."
        case Released():
            return "You gave it back: everybody it was put to can decide it."
        case hand.Handed():
            return f"{outcome.to} has it now, for 15 minutes, and is told."
        case Commented():
            return f"Written. {_untold(outcome)}".strip()
        case _:
            return ""


def _untold(outcome: Commented) -> str:
    names = ", ".join(str(user) for user in outcome.untold)
    return f"{names} may not read this item and was not told." if names else ""
