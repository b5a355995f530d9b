"""Puts the signed-in person's membership on each request, and reads times in their zone."""

import zoneinfo
from collections.abc import Callable
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from mcpdesk.accounts.access import memberships_of
from mcpdesk.accounts.models import User
from mcpdesk.accounts.sessions import chosen


class MemberMiddleware:
    """Sets `request.memberships` (every team of the person) and `request.member` (the chosen one).

    Read from the database for each request, so a changed role or a deactivation counts at once.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        marked = cast(Any, request)
        marked.memberships, marked.member = [], None
        if not isinstance(request.user, User):
            return self.get_response(request)
        marked.memberships = memberships_of(request.user)
        marked.member = chosen(marked.memberships, request.session)
        with timezone.override(zone_of(request.user)):
            return self.get_response(request)


def zone_of(user: User) -> zoneinfo.ZoneInfo:
    """The person's time zone; UTC when the machine does not know the name (any more)."""
    try:
        return zoneinfo.ZoneInfo(user.time_zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("UTC")
