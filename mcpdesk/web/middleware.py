"""What each request goes through: who asks and in which zone, and what is asked and kept at all."""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

from cryptography.fernet import InvalidToken
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import add_never_cache_headers

from mcpdesk.accounts.access import memberships_of
from mcpdesk.accounts.devices import note_use
from mcpdesk.accounts.models import User
from mcpdesk.accounts.sessions import chosen
from mcpdesk.accounts.zones import zone_of
from mcpdesk.database import Keeper
from mcpdesk.logs import about

logger = logging.getLogger(__name__)

Respond = Callable[[HttpRequest], HttpResponse]


class NeverStoredMiddleware:
    """Keeps every page out of caches and the browser's store: they show what this person may read
    now, and some of it (a password that was just made) once. Static files do not come by here.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        add_never_cache_headers(response)
        return response


class PlainAddressMiddleware:
    """Refuses an address with a NUL in its query: no page makes one, and PostgreSQL, which is
    asked for what stands there, takes none.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        query = request.META.get("QUERY_STRING", "")
        if "%00" in query or "\x00" in query:
            return HttpResponseBadRequest("There is no such address.", content_type="text/plain")
        return self.get_response(request)


class DatabaseMiddleware:
    """Comes before whatever asks the database: after a restart of PostgreSQL the pool would find
    its dead connections one by one, and the request would wait for that, or fail.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response
        self._keeper = Keeper()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        self._keeper.look(time.monotonic())
        return self.get_response(request)


class MemberMiddleware:
    """Sets `request.memberships` (every team of the person) and `request.member` (the chosen one).

    Read from the database for each request, so a changed role or a deactivation counts at once.
    """

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        marked = cast(Any, request)
        marked.memberships, marked.member = [], None
        if not isinstance(request.user, User):
            return self.get_response(request)
        note_use(request, request.user, datetime.now(UTC))
        marked.memberships = memberships_of(request.user)
        marked.member = chosen(marked.memberships, request.session)
        ids = {"team": marked.member.team_id} if marked.member else {}
        with timezone.override(zone_of(request.user)), about(**ids):
            return self.get_response(request)


class LostKeyMiddleware:
    """Says so where no key opens what a page needs, instead of that something went wrong."""

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, InvalidToken):
            return None
        page = request.resolver_match.view_name if request.resolver_match else ""
        logger.error("no configured key opens what the page %s needs", page)
        return render(request, "lost_key.html", status=503)
