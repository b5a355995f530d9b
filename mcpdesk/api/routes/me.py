"""The token itself."""

from typing import Any

from ninja import Router

from mcpdesk.accounts.tokens import Scope
from mcpdesk.api.callers import ApiRequest, Bearer
from mcpdesk.api.schemas import Me

router = Router(tags=["token"])


@router.get("", auth=Bearer(Scope.READ), response=Me)
def me(request: ApiRequest) -> Any:
    """Whose token this is, and what it is good for now."""
    token, member = request.auth.token, request.auth.member
    return {
        "kind": "service" if member.service else "person",
        "name": str(member.user),
        "team": str(member.team),
        "role": None if member.service else member.role.value,
        "token": token.name,
        "scopes": token.scopes,
        "expires_at": token.expires_at,
    }
