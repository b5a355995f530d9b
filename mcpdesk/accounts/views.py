"""The team that a signed-in person looks at."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.sessions import TEAM_KEY


@require_POST
@member_required()
def team_switch(request: MemberRequest) -> HttpResponse:
    """Look at another of one's own teams; any other id changes nothing."""
    wanted = request.POST.get("team", "")
    for membership in request.memberships:
        if str(membership.team_id) == wanted:
            request.session[TEAM_KEY] = membership.team_id
    return redirect("inbox")
