"""Which list of the inbox is shown, as its address says, and what opens after an item."""

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from approvals import selectors
from approvals.models import Approval, Shape
from approvals.selectors import Filters, Tab
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.guard import MemberRequest


def list_of(request: MemberRequest) -> dict[str, Any]:
    """What the templates of the list show."""
    member, now = request.member, timezone.now()
    tab = Tab(request.GET["tab"]) if request.GET.get("tab") in list(Tab) else Tab.MINE
    filters = Filters(*(request.GET.get(name, "")[:256] for name in ("server", "tool", "shape")))
    found = selectors.page(member, tab, filters, request.GET.get("after", ""), now)
    return {
        "tab": tab,
        "decides": member.may(Permission.DECIDE),
        "tabs": [(Tab.MINE, "For me"), (Tab.TEAM, "Team"), (Tab.DECIDED, "Decided")],
        "filters": filters,
        "page": found,
        "aside": selectors.aside_count(member, now),
        "last_decided": None if found.rows else selectors.last_decided(member),
        "servers": selectors.servers(member),
        "shapes": Shape.choices,
        "query": query(tab, filters, request.GET.get("after", "")),
        "more": query(tab, filters, found.after) if found.after else "",
    }


def query(tab: Tab, filters: Filters, after: str) -> str:
    """The part of an address that says which list is shown."""
    named = {"tab": tab, "after": after, **asdict(filters)}
    return urlencode({name: value for name, value in named.items() if value})


def go_on(request: MemberRequest, member: Member, done: Approval) -> HttpResponse:
    """To the next item that waits, or to the page that says nothing does."""
    following = selectors.first_waiting(member, timezone.now(), instead_of=done)
    return redirect("inbox_item", following.pk) if following else redirect("inbox")
