"""The Profile page: one's own name and time zone."""

from datetime import UTC, datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from mcpdesk.accounts.devices import devices_of
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.forms import ProfileForm
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.web.profiles import change_profile


@require_http_methods(["GET", "POST"])
@member_required()
def profile(request: MemberRequest) -> HttpResponse:
    """One's own name and time zone."""
    user = request.member.user
    form = ProfileForm(
        request.POST or None, initial={"name": user.name, "time_zone": user.time_zone}
    )
    if request.method == "POST" and form.is_valid():
        try:
            change_profile(request.member, **form.cleaned_data, now=datetime.now(UTC))
        except Refused as refusal:
            form.add_error("name", refusal.sentence)
        else:
            messages.success(request, "Saved.")
            return redirect("profile")
    status = 422 if form.is_bound else 200
    devices = devices_of(user, datetime.now(UTC), request.session.session_key)
    context = {"form": form, "devices": devices}
    return render(request, "accounts/profile.html", context, status=status)
