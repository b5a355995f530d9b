"""The door of every page: signed in, a member of a team, and allowed to.

`mcpdesk.web.middleware.MemberMiddleware` puts the member on the request; views are decorated with
`member_required`. What a member may not know of is a 404 (raised by the queryset's own look-up),
what they may know of but not do is a 403 with a sentence.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast
from urllib.parse import urlsplit

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from mcpdesk.accounts.access import Member, Permission


class MemberRequest(HttpRequest):
    """A request that passed `member_required`."""

    member: Member
    memberships: list[Member]
    htmx: HtmxDetails


P = ParamSpec("P")
View = Callable[Concatenate[MemberRequest, P], HttpResponseBase]
GuardedView = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

#: The header of a region that asks without anybody having asked for it, and of the answer to one
#: that nobody is signed in for any more (static/js/live.js).
BY_ITSELF = "Desk-Live"

#: What each permission is called in the sentence of a refusal.
_DOING = {
    Permission.SEE_OPERATIONS: "see this team's operations",
    Permission.SEE_ALL_PAYLOADS: "see this team's arguments and results",
    Permission.DECIDE: "decide approvals",
    Permission.OPERATE: "start or cancel operations",
    Permission.RECONCILE: "repair operations",
    Permission.READ_HISTORY: "read the whole history",
    Permission.ADMINISTER: "change servers, members or policies",
}


def member_required(
    permission: Permission | None = None,
) -> Callable[[View[P]], GuardedView[P]]:
    """Let a view run only for a member of a team, with `permission` where one is named."""

    def decorate(view: View[P]) -> GuardedView[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            refusal = _refusal(request)
            if refusal is not None:
                return refusal
            if permission is not None:
                require(cast(MemberRequest, request).member, permission)
            return view(cast(MemberRequest, request), *args, **kwargs)

        return guarded

    return decorate


def require(member: Member, permission: Permission) -> None:
    """Raise PermissionDenied with a sentence unless the member has the permission."""
    if member.may(permission):
        return
    if member.service:
        raise PermissionDenied(f"A service is not allowed to {_DOING[permission]}.")
    raise PermissionDenied(
        f"Your role in {member.team} is {member.role.label}. "
        f"It does not allow you to {_DOING[permission]}. An admin of the team can change that."
    )


def _refusal(request: HttpRequest) -> HttpResponse | None:
    if not request.user.is_authenticated:
        return _to_sign_in(request)
    if _member_of(request) is None:
        return render(request, "accounts/no_team.html", status=403)
    return None


def _member_of(request: HttpRequest) -> Member | None:
    member: Any = getattr(request, "member", None)
    return cast("Member | None", member)


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """To the sign-in page and back; a partial that somebody asked for takes the whole page there.

    A region that asks by itself does not: what is typed elsewhere on the page would be gone.
    """
    if BY_ITSELF in request.headers:
        return HttpResponse(status=204, headers={BY_ITSELF: "signed-out"})
    if getattr(request, "htmx", False):
        response = redirect_to_login(_page_of(request))
        return HttpResponseClientRedirect(response.url)
    path = request.get_full_path() if request.method in ("GET", "HEAD") else _page_of(request)
    return redirect_to_login(path)


def _page_of(request: HttpRequest) -> str:
    """The page a partial or a form belongs to, if it is one of ours."""
    referrer = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(referrer, {request.get_host()}):
        return "/"
    parts = urlsplit(referrer)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
