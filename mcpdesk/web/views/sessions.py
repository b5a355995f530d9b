"""Ending one's own sessions, from the Profile page."""

from datetime import UTC, datetime

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.web import own_sessions


@require_POST
@member_required()
def end(request: MemberRequest, pk: int) -> HttpResponse:
    """End one session; somebody else's is not found."""
    try:
        own_sessions.end_one(request.member, pk, datetime.now(UTC))
    except UserSession.DoesNotExist:
        raise Http404 from None
    messages.success(request, "That session is over.")
    return redirect("profile")


@require_POST
@member_required()
def end_others(request: MemberRequest) -> HttpResponse:
    """End all sessions but this one."""
    own_sessions.end_others(request.member, request.session, datetime.now(UTC))
    messages.success(request, "You are signed in here, and nowhere else.")
    return redirect("profile")
