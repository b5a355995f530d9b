"""The door of every page."""

import json
import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.test import Client

from mcpdesk.accounts.adapter import MFAAdapter
from mcpdesk.accounts.guard import BY_ITSELF
from mcpdesk.accounts.models import Membership, Role, User
from tests.factories import MembershipFactory, UserFactory
from tests.web.browsing import browser, htmx, signed_in

pytestmark = pytest.mark.django_db

PAGES = ["/operations/", "/operations/new/", "/operations/adopt/", "/servers/", "/servers/new/"]
PAGES += ["/team/", "/profile/", "/shell/inbox-badge/"]


@pytest.fixture
def member() -> Membership:
    return MembershipFactory(role=Role.ADMIN)


@pytest.mark.parametrize("page", PAGES)
def test_nobody_sees_a_page_without_signing_in(page: str) -> None:
    response = Client().get(page + "?q=1")
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/?next=" + page)


def test_a_region_that_asks_by_itself_never_takes_the_page_elsewhere() -> None:
    response = Client().get("/operations/", headers=htmx("operation-list") | {BY_ITSELF: "region"})
    assert (response.status_code, response.content) == (204, b"")
    assert response[BY_ITSELF] == "signed-out"
    assert "HX-Redirect" not in response


def test_a_partial_somebody_asked_for_takes_the_whole_page_to_sign_in_and_back() -> None:
    headers = htmx("operation-list") | {"Referer": "http://testserver/operations/?tab=ended"}
    response = Client().get("/operations/", headers=headers)
    assert response["HX-Redirect"] == "/accounts/login/?next=/operations/%3Ftab%3Dended"


def test_signing_in_never_leads_to_another_site() -> None:
    response = Client().post("/team/add/", headers={"Referer": "https://evil.example/x"})
    assert response["Location"] == "/accounts/login/?next=/"


@pytest.mark.parametrize("page", PAGES)
def test_a_person_without_a_team_is_told_so(page: str) -> None:
    client = Client()
    client.force_login(UserFactory())
    response = client.get(page)
    assert response.status_code == 403
    assert "You are not in a team" in response.content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_a_deactivated_person_loses_the_page_on_the_next_request(
    page: str, member: Membership
) -> None:
    client = signed_in(member)
    assert client.get(page).status_code == 200
    User.objects.filter(pk=member.user_id).update(is_active=False)
    assert client.get(page)["Location"].startswith("/accounts/login/")


def test_a_removed_person_loses_the_team_on_the_next_request(member: Membership) -> None:
    client = signed_in(member)
    other = MembershipFactory(user=member.user, role=Role.VIEWER)
    member.delete()
    page = client.get("/team/").content.decode()
    assert f"<h1>{other.team}</h1>" in page


def test_a_changed_role_counts_on_the_next_request(member: Membership) -> None:
    client = signed_in(member)
    assert client.get("/servers/new/").status_code == 200
    Membership.objects.filter(pk=member.pk).update(role=Role.OPERATOR)
    assert client.get("/servers/new/").status_code == 403


@pytest.mark.parametrize("role", [r for r in Role if r is not Role.ADMIN])
def test_a_refusal_says_which_role_and_what_it_does_not_allow(
    role: Role, member: Membership
) -> None:
    response = browser(role, member.team).get("/servers/new/")
    assert response.status_code == 403
    page = response.content.decode()
    assert f"Your role in {member.team} is {role.label}" in page
    assert "change servers" in page


def test_sign_up_is_closed() -> None:
    response = Client().get("/accounts/signup/")
    assert "Accounts are made by admins" in response.content.decode()
    Client().post("/accounts/signup/", {"email": "x@example.test", "password1": "abc def ghi 1"})
    assert not User.objects.exists()


def test_signing_in_works_by_e_mail_address_in_any_case(member: Membership) -> None:
    client = Client()
    login = {"login": member.user.email.upper(), "password": "correct horse battery"}
    response = client.post("/accounts/login/?next=/operations/", {**login, "next": "/operations/"})
    assert response["Location"] == "/operations/"


def test_nobody_takes_another_address(member: Membership) -> None:
    client, email = Client(), member.user.email
    client.post("/accounts/login/", {"login": email, "password": "correct horse battery"})
    for action in ("action_add", "action_primary"):
        client.post("/accounts/email/", {action: "", "email": "boss@example.test"})
    member.user.refresh_from_db()
    assert member.user.email == email


def test_without_a_mail_server_no_reset_link_is_printed_anywhere(
    member: Membership, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    page = Client().get("/accounts/password/reset/").content.decode()
    assert "This desk sends no mail. Ask an admin" in page
    Client().post("/accounts/password/reset/", {"email": member.user.email})
    assert "/password/reset/key" not in "".join(capsys.readouterr())


def test_with_a_mail_server_the_link_lets_them_set_a_new_password(
    member: Membership, settings: Any, mailoutbox: list[Any]
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    client = Client()
    client.post("/accounts/password/reset/", {"email": member.user.email})
    link = re.search(r"http://testserver(\S+)", mailoutbox[0].body)
    assert link is not None
    form = client.get(link[1], follow=True).redirect_chain[-1][0]
    client.post(form, {"password1": "violet tractor 9", "password2": "violet tractor 9"})
    member.user.refresh_from_db()
    assert member.user.check_password("violet tractor 9")


def test_secrets_of_two_factor_sign_in_are_encrypted(member: Membership) -> None:
    totp = TOTP.activate(member.user, "JBSWY3DPEHPK3PXP")
    stored = json.dumps(Authenticator.objects.get(pk=totp.instance.pk).data)
    assert "JBSWY3DPEHPK3PXP" not in stored
    assert MFAAdapter().decrypt(totp.instance.data["secret"]) == "JBSWY3DPEHPK3PXP"
