"""The shell around every page."""

import re
from typing import Any

import pytest
from django.test import Client

from mcpdesk.accounts.models import Membership, Role
from tests.factories import ApprovalFactory, MembershipFactory
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db

PAGES = ["/operations/", "/operations/new/", "/servers/", "/servers/new/", "/team/", "/profile/"]
PAGES += ["/accounts/password/change/", "/accounts/2fa/", "/accounts/logout/", "/nothing/"]


@pytest.fixture
def admin() -> Membership:
    return MembershipFactory(role=Role.ADMIN)


@pytest.mark.parametrize("page", [*PAGES, "/accounts/login/"])
def test_no_page_has_inline_script_or_style(admin: Membership, page: str) -> None:
    client = Client() if "login" in page else signed_in(admin)
    response = client.get(page)
    text = response.content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
    policy = response["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("page", PAGES[:6])
def test_every_page_says_where_it_is(admin: Membership, page: str) -> None:
    text = signed_in(admin).get(page).content.decode()
    assert '<a class="skip-link" href="#main">' in text
    assert text.count("<h1") == 1
    assert re.search(r"<title>[^<]+ · mcpdesk</title>", text)
    if page != "/profile/":
        assert text.count('aria-current="page"') >= 1


def test_every_form_can_be_sent_without_javascript(admin: Membership) -> None:
    for page in PAGES[:6]:
        for form in re.findall(r"<form[^>]*>", signed_in(admin).get(page).content.decode()):
            assert 'method="' in form, (page, form)


def test_the_badge_counts_what_waits_for_this_member(admin: Membership) -> None:
    ApprovalFactory.create_batch(2, input_request__operation__server__team=admin.team)
    badge = signed_in(admin).get("/shell/inbox-badge/").content.decode()
    assert re.search(r"waiting for you: </span>2</span>", badge)
    assert 'data-live="inbox"' in badge
    viewer = browser(Role.VIEWER, admin.team).get("/shell/inbox-badge/").content.decode()
    assert "waiting for you" not in viewer


def test_the_switcher_is_there_only_for_several_teams(admin: Membership) -> None:
    client = signed_in(admin)
    assert "team-switch" not in client.get("/team/").content.decode()
    other = MembershipFactory(user=admin.user)
    page = client.get("/team/").content.decode()
    assert "team-switch" in page
    assert str(other.team) in page


def test_a_page_that_is_not_there_says_so_in_the_shell(admin: Membership) -> None:
    response = signed_in(admin).get("/nothing/")
    assert response.status_code == 404
    assert "There is nothing here" in response.content.decode()
    assert "rail-nav" in response.content.decode()


def test_a_form_without_its_token_is_refused_in_words(admin: Membership, settings: Any) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in(admin).cookies
    response = strict.post("/profile/", {"name": "x"})
    assert response.status_code == 403
    assert "This form is out of date" in response.content.decode()


def test_health_needs_no_sign_in_and_says_nothing_else() -> None:
    response = Client().get("/health/")
    assert (response.status_code, response.content) == (200, b"ok")
