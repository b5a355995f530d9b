"""Who comes in to the support pages: staff, signed in with a second factor in this very session.

Whether somebody is a superuser, an admin of a team, or has any permission of Django's is not asked.
"""

from enum import StrEnum, auto
from typing import Any, cast
from urllib.parse import urlencode

from allauth.account.authentication import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.urls import reverse

from mcpdesk.accounts.models import User


class Standing(StrEnum):
    """How somebody stands before the door."""

    SIGNED_OUT = auto()
    NO_STAFF = auto()
    NO_FACTOR = auto()  # staff, and no second factor is set up
    FACTOR_UNUSED = auto()  # one is set up, and this session was begun without it
    IN = auto()


def standing(request: HttpRequest) -> Standing:
    """How whoever asks stands, read once for each request."""
    marked = cast(Any, request)
    if not hasattr(marked, "support_standing"):
        marked.support_standing = _standing(request)
    return cast(Standing, marked.support_standing)


def _standing(request: HttpRequest) -> Standing:
    user = request.user
    if not isinstance(user, User) or not user.is_active:
        return Standing.SIGNED_OUT
    if not user.is_staff:
        return Standing.NO_STAFF
    if not is_mfa_enabled(user):
        return Standing.NO_FACTOR
    used = any(one.get("method") == "mfa" for one in get_authentication_records(request, user))
    return Standing.IN if used else Standing.FACTOR_UNUSED


def way_in(request: HttpRequest) -> HttpResponseRedirect:
    """Where whoever is not in has to go first; the desk's own sign-in counts its attempts.

    Raises Http404 for who is no staff: to them there is nothing here. Raises PermissionDenied for
    staff without a second factor.
    """
    path = request.get_full_path()
    match standing(request):
        case Standing.SIGNED_OUT:
            return redirect_to_login(path)
        case Standing.FACTOR_UNUSED:
            query = urlencode({"next": path})
            return HttpResponseRedirect(f"{reverse('mfa_reauthenticate')}?{query}")
        case Standing.NO_FACTOR:
            raise PermissionDenied(
                "Support staff sign in with a second factor. "
                "Set one up (user menu, Two-factor sign-in), then come back."
            )
    raise Http404
