"""Tokens for tests, and a client that speaks JSON with one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.test import Client

from mcpdesk.accounts import access, tokens
from mcpdesk.accounts.models import ApiToken, Membership, Role, Team
from mcpdesk.accounts.tokens import Scope
from tests.factories import MembershipFactory

ROOT = "/api/v1"
PROBLEM = "application/problem+json"


def a_token(
    team: Team, user: Any = None, scopes: Sequence[Scope] = tuple(Scope), **columns: Any
) -> tuple[ApiToken, str]:
    """A token as the product makes it, and its secret; without a user a service's."""
    secret, now = tokens.new_secret(), datetime.now(UTC)
    defaults = {
        "name": "laptop" if user else "deploy-bot",
        "created_at": now,
        "expires_at": now + timedelta(days=90),
        "created_by": user or MembershipFactory(team=team, role=Role.ADMIN).user,
    }
    row = ApiToken.objects.create(
        team=team,
        user=user,
        scopes=list(scopes),
        prefix=tokens.shown_part(secret),
        digest=tokens.digest(secret),
        **{**defaults, **columns},
    )
    return row, secret


@dataclass(slots=True)
class Caller:
    """Somebody, or something, with a token."""

    token: ApiToken
    secret: str

    def get(self, path: str, **query: Any) -> HttpResponse:
        return Client().get(f"{ROOT}{path}", query, headers=self.headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return Client().post(
            f"{ROOT}{path}",
            {} if body is None else body,
            content_type="application/json",
            headers={**self.headers, **headers},
        )

    def start(self, key: str = "k", **body: Any) -> HttpResponse:
        return self.post("/operations", body, **{"Idempotency-Key": key})

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}


def person(team: Team, role: Role | str = Role.OPERATOR, **token: Any) -> Caller:
    """A new member of the team with a token of every scope."""
    return of(MembershipFactory(team=team, role=role), **token)


def of(membership: Membership, **token: Any) -> Caller:
    return Caller(*a_token(membership.team, membership.user, **token))


def service(team: Team, **token: Any) -> Caller:
    """A service with every scope it can have."""
    scopes = [scope for scope in Scope if tokens.NEEDS[scope] in access.SERVICE]
    return Caller(*a_token(team, **{"scopes": scopes, **token}))
