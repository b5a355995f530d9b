"""The list of the inbox, with its first item beside it."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals import selectors
from approvals.listing import list_of
from approvals.views.doors import DETAIL, INBOX, context_of, detail
from mcpdesk.accounts.guard import MemberRequest, member_required

LIST = "inbox-list"


@require_safe
@member_required()
def inbox(request: MemberRequest) -> HttpResponse:
    """The list, with its first item beside it where there is room."""
    listed = list_of(request)
    if request.htmx.target == LIST:
        return render(request, "approvals/list.html", listed)
    rows = listed["rows"]
    opened = selectors.find_in_team(request.member, rows[0].approval.pk) if rows else None
    shown = context_of(request.member, opened) if opened else {"item": None}
    if request.htmx.target == DETAIL:
        return detail(request, {**listed, **shown})
    return render(request, INBOX, {**listed, **shown, "item_chosen": False})
