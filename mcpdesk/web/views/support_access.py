"""The Support page of a team: may support staff look, who they are, and what they looked at."""

from datetime import UTC, datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from mcpdesk.accounts.access import Permission, open_to_support
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.accounts.models import User
from mcpdesk.web import support_access
from mcpdesk.web.forms import SupportForm


@require_safe
@member_required()
def show(request: MemberRequest) -> HttpResponse:
    """Everybody of the team sees whether support may look; admins say so."""
    return _page(request, SupportForm())


@require_POST
@member_required(Permission.ADMINISTER)
def let_in(request: MemberRequest) -> HttpResponse:
    """Let support look for some time."""
    form = SupportForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    support_access.let_in(request.member, hours=form.cleaned_data["hours"], now=datetime.now(UTC))
    messages.success(request, "Support may look now.")
    return redirect("support_access")


@require_POST
@member_required(Permission.ADMINISTER)
def shut_out(request: MemberRequest) -> HttpResponse:
    """End it."""
    support_access.shut_out(request.member, datetime.now(UTC))
    messages.success(request, "Support sees nothing of this team.")
    return redirect("support_access")


def _page(request: MemberRequest, form: SupportForm, status: int = 200) -> HttpResponse:
    grants = open_to_support(datetime.now(UTC)).select_related("granted_by")
    context = {
        "grant": grants.filter(team=request.member.team).first(),
        "form": form,
        "staff": User.objects.filter(is_staff=True, is_active=True).order_by("name", "pk"),
        "may_change": request.member.may(Permission.ADMINISTER),
        "may_read_log": request.member.may(Permission.READ_HISTORY),
    }
    return render(request, "web/support_access.html", context, status=status)
