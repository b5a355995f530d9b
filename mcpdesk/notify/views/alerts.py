"""What operators and admins have to look at: open alerts, past ones with who saw to them."""

from datetime import UTC, datetime

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.notify import selectors
from mcpdesk.notify.alerts import SEES_TO_ALERTS, see_to
from mcpdesk.notify.models import Alert

#: How many past alerts a page shows; older ones stand in the log.
PAST = 100


@require_safe
@member_required(SEES_TO_ALERTS)
def overview(request: MemberRequest) -> HttpResponse:
    """Open alerts, each with its place and a button, then the latest past ones."""
    team_id = request.member.team_id
    context = {
        "open": selectors.open_alerts(team_id),
        "past": selectors.past_alerts(team_id)[:PAST],
        "shown": PAST,
    }
    template = "notify/alerts.html"
    return render(request, f"{template}#live" if request.htmx else template, context)


@require_safe
@member_required(SEES_TO_ALERTS)
def badge(request: MemberRequest) -> HttpResponse:
    """How many are open: a part of every page of theirs."""
    return render(request, "partials/alerts_badge.html")


@require_POST
@member_required(SEES_TO_ALERTS)
def seen(request: MemberRequest, pk: int) -> HttpResponse:
    """Somebody has seen to it."""
    try:
        see_to(pk, member=request.member, now=datetime.now(UTC))
    except Alert.DoesNotExist:
        raise Http404 from None
    except Refused as refusal:
        messages.error(request, refusal.sentence)
    return redirect("alerts")
