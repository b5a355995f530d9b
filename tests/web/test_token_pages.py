"""The pages of tokens: made, shown once, listed with their state, revoked."""

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.utils import timezone

from mcpdesk.accounts import tokens
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import ApiToken, Membership, Role
from mcpdesk.accounts.tokens import Scope
from mcpdesk.audit.models import Event
from mcpdesk.web.tokens import MOST, make_service
from tests.api.calling import a_token
from tests.factories import MembershipFactory, TeamFactory
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db

OWN = {"name": "laptop", "scopes": ["read", "decide"], "days": "30"}
SERVICE = {"name": "deploy-bot", "scopes": ["read", "start"], "days": ""}


@pytest.fixture
def admin() -> Membership:
    return MembershipFactory(role=Role.ADMIN)


@pytest.fixture
def client(admin: Membership) -> Client:
    return signed_in(admin)


def test_a_token_of_ones_own_is_shown_once_and_opens_the_api(
    client: Client, admin: Membership
) -> None:
    page = client.post("/profile/tokens/", OWN)
    secret = page.context["made"].secret
    assert secret in page.content.decode()
    assert secret not in client.get("/profile/tokens/").content.decode()
    token = ApiToken.objects.get()
    assert (token.team, token.user, token.scopes) == (admin.team, admin.user, ["decide", "read"])
    headers = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/me", headers=headers).json()["name"] == str(admin.user)


def test_what_somebody_calls_their_own_token_is_not_in_the_log(client: Client) -> None:
    """The log is for ever; who is erased takes their own words along."""
    client.post("/profile/tokens/", {**OWN, "name": "Anna's laptop"})
    token = ApiToken.objects.get()
    client.post(f"/profile/tokens/{token.pk}/revoke/")
    data = [event.data for event in Event.objects.filter(kind__startswith="token.")]
    assert [one["token"] for one in data] == [f"{token.prefix}…"] * 2


def test_making_and_revoking_are_events_without_the_secret(client: Client) -> None:
    secret = client.post("/team/tokens/", SERVICE).context["made"].secret
    client.post(f"/team/tokens/{ApiToken.objects.get().pk}/revoke/")
    made, revoked = Event.objects.filter(kind__startswith="token.").order_by("id")
    label = f"deploy-bot ({secret[:10]}…)"
    assert made.data == {"token": label, "owner": "a service", "scopes": "read, start"}
    assert revoked.data == {"token": label, "owner": "a service"}


def test_a_role_is_offered_no_more_than_it_may(admin: Membership) -> None:
    viewer = browser(Role.VIEWER, admin.team)
    page = viewer.post("/profile/tokens/", OWN)
    assert page.status_code == 422
    assert not ApiToken.objects.exists()
    assert viewer.post("/profile/tokens/", {**OWN, "scopes": ["read"]}).context["made"]


def test_a_service_is_never_given_the_scope_to_decide(client: Client) -> None:
    page = client.post("/team/tokens/", {**SERVICE, "scopes": ["decide"]})
    assert page.status_code == 422
    assert not ApiToken.objects.exists()


def test_two_services_of_one_name_are_not_to_be_told_apart(client: Client) -> None:
    client.post("/team/tokens/", SERVICE)
    page = client.post("/team/tokens/", SERVICE)
    assert page.status_code == 422
    assert "There is a service deploy-bot" in page.content.decode()
    client.post(f"/team/tokens/{ApiToken.objects.get().pk}/revoke/")
    assert client.post("/team/tokens/", SERVICE).context["made"]


def test_who_was_an_admin_when_they_asked_and_is_none_now_makes_no_service(
    admin: Membership,
) -> None:
    """What a service's token opens it opens whatever becomes of who made it."""
    asked = Member(admin.user, admin.team, Role.ADMIN)
    Membership.objects.filter(pk=admin.pk).update(role=Role.OPERATOR)
    with pytest.raises(PermissionDenied, match="does not allow you"):
        make_service(asked, name="bot", scopes=[Scope.READ], days=None, now=timezone.now())
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("name", ["Anna Admin", "deploy bot", "<b>", ""])
def test_a_service_cannot_be_called_as_a_person_is(client: Client, name: str) -> None:
    assert client.post("/team/tokens/", {**SERVICE, "name": name}).status_code == 422


def test_a_token_without_a_purpose_is_not_made(client: Client) -> None:
    assert client.post("/profile/tokens/", {**OWN, "scopes": []}).status_code == 422


def test_there_is_a_most_of_tokens_that_are_not_revoked(client: Client, admin: Membership) -> None:
    for _ in range(MOST):
        a_token(admin.team, admin.user)
    page = client.post("/profile/tokens/", OWN)
    assert page.status_code == 422
    assert "Revoke one" in page.content.decode()


def test_a_revoked_token_opens_nothing_and_says_when_and_by_whom(
    client: Client, admin: Membership
) -> None:
    token, secret = a_token(admin.team, admin.user)
    client.post(f"/profile/tokens/{token.pk}/revoke/")
    assert (
        Client().get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    )
    page = client.get("/profile/tokens/").content.decode()
    assert tokens.State.REVOKED in page
    assert f"by {admin.user}" in page


def test_what_still_opens_is_listed_however_much_was_revoked_since(
    client: Client, admin: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpdesk.web.views.tokens._REVOKED_ROWS", 2)
    old, _ = a_token(admin.team, admin.user)
    revoked = [
        a_token(admin.team, admin.user, revoked_at=timezone.now(), revoked_by=admin.user)[0]
        for _ in range(3)
    ]
    shown = [row["token"] for row in client.get("/profile/tokens/").context["rows"]]
    assert shown == [old, revoked[2], revoked[1]]


def test_revoking_twice_is_one_event(client: Client, admin: Membership) -> None:
    token, _ = a_token(admin.team, admin.user)
    for _ in range(2):
        client.post(f"/profile/tokens/{token.pk}/revoke/")
    assert Event.objects.filter(kind="token.revoked").count() == 1


def test_an_admin_ends_the_token_of_a_colleague_who_left(client: Client, admin: Membership) -> None:
    colleague = MembershipFactory(team=admin.team)
    token, _ = a_token(admin.team, colleague.user)
    colleague.delete()
    assert tokens.State.ASLEEP in client.get("/team/tokens/").content.decode()
    client.post(f"/team/tokens/{token.pk}/revoke/")
    token.refresh_from_db()
    assert token.revoked_by == admin.user


def test_tokens_of_others_and_of_other_teams_do_not_exist(client: Client) -> None:
    elsewhere = MembershipFactory(team=TeamFactory())
    token, _ = a_token(elsewhere.team, elsewhere.user)
    assert client.post(f"/profile/tokens/{token.pk}/revoke/").status_code == 404
    assert client.post(f"/team/tokens/{token.pk}/revoke/").status_code == 404


def test_the_lists_cost_the_same_with_many_tokens(
    client: Client, admin: Membership, django_assert_max_num_queries: object
) -> None:
    for number in range(20):
        a_token(admin.team, admin.user)
        a_token(admin.team, name=f"bot-{number}", created_by=admin.user)
    with django_assert_max_num_queries(20):  # type: ignore[operator]
        client.get("/team/tokens/")
