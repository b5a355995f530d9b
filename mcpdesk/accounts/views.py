"""The signed-in person: their profile and the team they look at."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from mcpdesk.accounts.forms import ProfileForm
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
    return redirect("home")


@require_http_methods(["GET", "POST"])
@member_required()
def profile(request: MemberRequest) -> HttpResponse:
    """One's own name and time zone."""
    form = ProfileForm(request.POST or None, instance=request.member.user)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("profile")
    status = 422 if form.is_bound else 200
    return render(request, "accounts/profile.html", {"form": form}, status=status)
