"""The page that says who could decide what on a given day."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from mcpdesk.accounts.models import Membership, Role, RoleSpan
from tests.api.calling import a_token
from tests.factories import MembershipFactory, ServerFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def auditor() -> Membership:
    return MembershipFactory(role=Role.AUDITOR)


@pytest.fixture
def client(auditor: Membership) -> Client:
    return signed_in(auditor)


def form(auditor: Membership, at: datetime, **more: str) -> dict[str, Any]:
    server = ServerFactory(team=auditor.team)
    return {
        "day": at.date().isoformat(),
        "time": f"{at:%H:%M:%S.%f}",
        "server": server.name,
        "tool": "deploy",
        "starter": "",
        "arguments": "{}",
        **more,
    }


def test_an_auditor_reads_who_could_and_why_the_others_could_not(
    client: Client, auditor: Membership
) -> None:
    MembershipFactory(team=auditor.team, role=Role.APPROVER, user__name="Ada")
    page = client.post("/team/who-could/", form(auditor, datetime.now(UTC))).content.decode()
    assert "one of the team&#x27;s approvers" in page
    assert "the role Auditor decides nothing" in page
    assert "because no rule says anything of it" in page


def test_who_was_removed_since_could_decide_then(client: Client, auditor: Membership) -> None:
    gone = MembershipFactory(team=auditor.team, role=Role.APPROVER, user__name="Gone Gil")
    then = RoleSpan.objects.get(user=gone.user).starts_at + timedelta(microseconds=1)
    gone.delete()
    given = form(auditor, then)
    assert 'Gone Gil</strong> <span class="badge">could decide' in _answer(client, given)
    assert "Gone Gil</strong>" not in _answer(client, form(auditor, datetime.now(UTC)))


def test_the_form_begins_with_whoever_asks_and_speaks_of_another_service_only_beside_one(
    client: Client, auditor: Membership
) -> None:
    page = client.get("/team/who-could/").content.decode()
    assert f'<option value="{auditor.user_id}" selected>' in page
    assert '<option value="">a service</option>' in page
    a_token(auditor.team)
    admin = MembershipFactory(team=auditor.team, role=Role.ADMIN)
    page = signed_in(admin).get("/team/who-could/").content.decode()
    assert '<option value="">another service</option>' in page


def test_of_a_day_to_come_nothing_is_said(client: Client, auditor: Membership) -> None:
    given = form(auditor, datetime.now(UTC) + timedelta(days=2))
    response = client.post("/team/who-could/", given)
    assert response.status_code == 422
    assert "still to come" in response.content.decode()


def test_a_day_before_the_history_begins_is_said_to_be_unknown(
    client: Client, auditor: Membership
) -> None:
    given = form(auditor, datetime.now(UTC) - timedelta(days=2))
    assert "who was in it then is not known" in _answer(client, given)


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31", "soon"])
def test_odd_days_are_refused_or_answered(client: Client, auditor: Membership, day: str) -> None:
    given = form(auditor, datetime.now(UTC), day=day)
    assert client.post("/team/who-could/", given).status_code in (200, 422)


def _answer(client: Client, given: dict[str, Any]) -> str:
    response = client.post("/team/who-could/", given)
    assert response.status_code == 200
    return response.content.decode()


def test_an_admin_asks_of_a_service_by_its_token_and_its_maker_is_barred() -> None:
    admin = MembershipFactory(role=Role.ADMIN)
    token, _ = a_token(admin.team, created_by=admin.user)
    given = form(admin, datetime.now(UTC), starter=f"service-{token.pk}")
    page = signed_in(admin).post("/team/who-could/", given).content.decode()
    assert "started by the service deploy-bot" in page
    assert "they made the token of the service that started it" in page


def test_an_auditor_is_not_told_of_tokens(client: Client, auditor: Membership) -> None:
    token, _ = a_token(auditor.team)
    assert "deploy-bot" not in client.get("/team/who-could/").content.decode()
    given = form(auditor, datetime.now(UTC), starter=f"service-{token.pk}")
    assert client.post("/team/who-could/", given).status_code == 422
