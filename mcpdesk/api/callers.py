"""Who calls: the token in the Authorization header, and nothing else. Cookies mean nothing here."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from ninja.security.base import AuthBase

from mcpdesk.accounts import tokens
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.guard import require
from mcpdesk.accounts.models import ApiToken
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import limits, parameters
from mcpdesk.api.limits import Rate
from mcpdesk.api.problems import Problem
from mcpdesk.audit.log import Actor

#: A key of the ASGI scope, which nobody can send: this request asks again for one that was counted,
#: and that a token of the scope under this key was enough for.
ASKED_AGAIN = "mcpdesk.asked_again"
_CHALLENGE = 'Bearer realm="mcpdesk"'


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever acts by a token, read from the database for this request."""

    token: ApiToken
    member: Member
    now: datetime

    @property
    def actor(self) -> Actor:
        return Actor.by_token(self.token)


class ApiRequest(HttpRequest):
    """A request that passed Bearer: `auth` says whose it is, `rate` what is left for it."""

    auth: Caller
    rate: Rate


class Bearer(AuthBase):
    """Takes `Authorization: Bearer mdk_…` (RFC 6750) where the token and its holder may do this."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        #: The names of its route's query parameters (mcpdesk.api.document.describe).
        self.parameters: frozenset[str] = frozenset()
        super().__init__()

    def __call__(self, request: HttpRequest) -> Caller:
        """Raises Problem: 401 for a token that opens nothing, 403 for too little, 422, 429."""
        now = datetime.now(UTC)
        caller = _caller(request, now)
        asked_again = getattr(request, "scope", {}).get(ASKED_AGAIN)
        if asked_again is None:
            rate = limits.of_token(caller.token)
            cast(ApiRequest, request).rate = limits.spent(rate)
            limits.enforce(rate)
            tokens.note_use(caller.token, now)
        _check(caller, asked_again or self.scope)
        parameters.check(request, self.parameters)
        return caller


def _check(caller: Caller, scope: Scope) -> None:
    if not tokens.allows(caller.token, scope):
        challenge = f'{_CHALLENGE}, error="insufficient_scope", scope="{scope}"'
        raise Problem(
            403,
            f"This token was not made for that: it has no scope “{scope}”.",
            "scope",
            headers={"WWW-Authenticate": challenge},
        )
    try:
        require(caller.member, tokens.NEEDS[scope])
    except PermissionDenied as denied:
        raise Problem(403, str(denied), "role") from None


def _caller(request: HttpRequest, now: datetime) -> Caller:
    secret = secret_in(request.headers.get("Authorization", ""))
    token = tokens.find(secret, now) if secret else None
    member = tokens.holder(token, now) if token is not None else None
    if token is None or member is None:
        limits.enforce(limits.of_failures(request))
        raise _unknown(secret)
    return Caller(token, member, now)


def secret_in(authorization: str) -> str:
    """The token that an Authorization header carries, however it is written; empty: none."""
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _unknown(secret: str) -> Problem:
    """Why is not said: whether there ever was such a token is nobody's business."""
    if not secret:
        detail = "Send a token: Authorization: Bearer mdk_…"
        return Problem(401, detail, headers={"WWW-Authenticate": _CHALLENGE})
    return Problem(
        401,
        "This token opens nothing: it is wrong, expired or revoked, or its person is not in the "
        "team any more.",
        "token",
        headers={"WWW-Authenticate": f'{_CHALLENGE}, error="invalid_token"'},
    )
