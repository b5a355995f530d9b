"""What the templates of the list show, and what opens after an item."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from approvals import rows, saved_filters, selectors
from approvals.filters import Chosen, Claimed, Tab
from approvals.models import Approval, Shape
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.guard import MemberRequest

_TABS = ((Tab.MINE, "For me"), (Tab.TEAM, "Team"), (Tab.DECIDED, "Decided"))
_CLAIMED = (
    (Claimed.ME, "Claimed by me"),
    (Claimed.SOMEBODY, "Claimed by somebody"),
    (Claimed.NOBODY, "Claimed by nobody"),
)


def list_of(request: MemberRequest) -> dict[str, Any]:
    """What the templates of the list show."""
    member, now = request.member, timezone.now()
    chosen = Chosen.read(request.GET)
    servers, starters = list(selectors.servers(member)), selectors.starters(member)
    found = selectors.page(member, chosen, now, servers, starters)
    shown = rows.of(member, chosen.tab, found.rows, now)
    counts = selectors.counts(member, now)
    return {
        "chosen": chosen,
        "tab": chosen.tab,
        "decides": member.may(Permission.DECIDE),
        "tabs": [(tab, label, Chosen(tab, chosen.filters)) for tab, label in _TABS],
        "rows": shown,
        "can_pick": any(row.has_box for row in shown),
        "suffix": chosen.suffix,
        "inbox_count": counts.waiting,
        "aside": counts.aside,
        "last_decided": None if found.rows else selectors.last_decided(member),
        "servers": servers,
        "starters": starters,
        "shapes": Shape.choices,
        "claims": _CLAIMED,
        "may_keep_ours": member.may(Permission.ADMINISTER),
        "saved_filters": saved_filters.of(member),
        "more": chosen.behind(found.after) if found.after else None,
    }


def go_on(request: MemberRequest, member: Member, done: Approval) -> HttpResponse:
    """To the next item that waits and fits the list it was opened from, or to what says that
    nothing does; the list stays as it was chosen.
    """
    chosen, now = Chosen.read(request.GET).beginning(), timezone.now()
    following = selectors.first_waiting(member, chosen.filters, now, instead_of=done)
    if following is None:
        return redirect(f"{reverse('inbox')}{chosen.suffix}")
    return redirect(f"{reverse('inbox_item', args=[following.pk])}{chosen.suffix}")
