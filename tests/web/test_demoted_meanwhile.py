"""A role that is taken away between a click and the verb's lock: the page says so, with a 403."""

from typing import Any
from unittest import mock

import pytest
from django.test import Client

from approvals.models import SavedFilter
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import ApiToken, Membership, Role
from mcpdesk.audit.models import Event, LegalHold
from tasks_monitor.models import Hold
from tests.factories import NOW, MembershipFactory, ServerFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db

SERVER = {
    "name": "deploys",
    "url": "https://deploy.example.test/mcp",
    "auth_kind": "none",
    "questions_to": "requester",
    "max_in_flight": "3",
    "call_timeout_s": "60",
}
CLICKS: dict[str, dict[str, Any]] = {
    "/servers/new/": SERVER,
    "/servers/{server}/edit/": SERVER,
    "/servers/{server}/pause/": {"paused": "yes"},
    "/servers/{server}/durations/": {"tool": "deploy", "limit": "90"},
    "/team/tokens/{token}/revoke/": {},
    "/holds/new/": {"reason": "Odd payments"},
    "/holds/{hold}/end/": {},
    "/team/retention/": {"payload_days": "30", "log_days": "", "confirmed": "yes"},
    "/team/retention/holds/": {"reason": "A court asks"},
    "/team/retention/holds/{legal_hold}/end/": {"reason": "Settled"},
    "/team/support/let-in/": {"hours": "8"},
    "/team/support/end/": {},
    "/policies/reasons/": {"approve": "Small change", "deny": ""},
    "/inbox/filters/save/": {"name": "Deploys", "for_team": "on"},
    "/inbox/filters/{list}/rename/": {"name": "Deploys"},
    "/inbox/filters/{list}/delete/": {},
}


@pytest.fixture
def admin() -> Membership:
    made: Membership = MembershipFactory(role=Role.ADMIN)
    return made


@pytest.fixture
def ids(admin: Membership) -> dict[str, int]:
    begun = {"team": admin.team, "since": NOW, "begun_by": admin.user, "reason": "x"}
    service = ApiToken.objects.create(
        team=admin.team, name="ci", prefix="x", digest="x", created_at=NOW, created_by=admin.user
    )
    return {
        "server": ServerFactory(team=admin.team).pk,
        "token": service.pk,
        "hold": Hold.objects.create(**begun, server=ServerFactory(team=admin.team)).pk,
        "legal_hold": LegalHold.objects.create(**begun).pk,
        "list": SavedFilter.objects.create(team=admin.team, name="Ours", query="").pk,
    }


def click(client: Client, path: str, typed: dict[str, Any]) -> Any:
    """The role is gone when the verb asks for it once more."""
    ask = access.member_in

    def demoted(*args: Any, **more: Any) -> Member | None:
        Membership.objects.update(role=Role.VIEWER)
        return ask(*args, **more)

    with mock.patch.object(access, "member_in", demoted):
        return client.post(path, typed)


@pytest.mark.parametrize("path", CLICKS)
def test_the_page_says_which_role_it_is_and_nothing_was_changed(
    admin: Membership, ids: dict[str, int], path: str
) -> None:
    answer = click(signed_in(admin), path.format(**ids), CLICKS[path])
    said = answer.content.decode()
    assert answer.status_code == 403
    assert f"Your role in {admin.team} is Viewer" in said and "Nothing was changed" in said
    assert not Event.objects.exists()
