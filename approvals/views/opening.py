"""After somebody agreed to open a link: they are done there, or it did not work."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from approvals import opening, outcomes
from approvals.comments import Commented
from approvals.opening import AskedAgain
from approvals.views.doors import door
from mcpdesk.accounts.guard import MemberRequest, member_required

LOOKING = "The server is asked now. What it says comes here by itself."
ASKED_AGAIN = "The server has asked for something else meanwhile: read it before you go on."


@require_POST
@member_required()
def finished(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """The person has done what the link was for: the server is to look again."""
    member, _ = door(request, approval_id)
    outcome = opening.finished(approval_id, member=member, now=timezone.now())
    if isinstance(outcome, outcomes.Missing):
        raise Http404
    if isinstance(outcome, AskedAgain):
        messages.warning(request, ASKED_AGAIN)
        return redirect("inbox_item", outcome.approval.pk)
    if isinstance(outcome, outcomes.Refused):
        messages.warning(request, outcome.sentence)
    else:
        messages.success(request, LOOKING)
    return redirect("inbox_item", approval_id)


@require_POST
@member_required()
def failed(request: MemberRequest, approval_id: UUID) -> HttpResponse:
    """The link did not work: whoever started the call is told."""
    member, _ = door(request, approval_id)
    words = request.POST.get("words", "")
    outcome = opening.failed(approval_id, member=member, words=words, now=timezone.now())
    if isinstance(outcome, outcomes.Missing):
        raise Http404
    if isinstance(outcome, Commented):
        messages.success(request, "Written down, and whoever started this is told.")
    else:
        messages.error(request, outcome.sentence)
    return redirect("inbox_item", approval_id)
