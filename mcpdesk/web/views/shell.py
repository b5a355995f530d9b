"""Views of the shell itself."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from mcpdesk.accounts.guard import MemberRequest, member_required


def health(request: HttpRequest) -> HttpResponse:
    """The web process answers; says nothing else, since anybody may ask."""
    return HttpResponse("ok", content_type="text/plain")


@require_safe
@member_required()
def inbox_badge(request: MemberRequest) -> HttpResponse:
    """The count beside "Inbox", asked again by live pages."""
    return render(request, "partials/inbox_badge.html")


@require_safe
@member_required()
def holds(request: MemberRequest) -> HttpResponse:
    """What is on hold, asked again by live pages."""
    return render(request, "partials/holds.html")
