"""The way in to the support pages, step by step, with the desk's own sign-in."""

from datetime import timedelta

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import (
    format_hotp_value,
    hotp_value,
    yield_hotp_counters_from_time,
)
from allauth.mfa.utils import decrypt
from django.test import Client
from django.utils import timezone

from mcpdesk.accounts.models import User
from tests.support.staff import make_staff, signed_in

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
SIGN_IN = "/accounts/login/?next=/support/"


@pytest.fixture
def sue() -> User:
    return make_staff()


def code_of(user: User) -> str:
    """What the person's authenticator shows now."""
    kept = Authenticator.objects.get(user=user, type="totp").data["secret"]
    secret = decrypt(kept)
    return str(format_hotp_value(hotp_value(secret, next(yield_hotp_counters_from_time()))))


def test_staff_sign_in_with_password_and_code_and_are_led_back(sue: User) -> None:
    client = Client()
    assert client.get("/support/").url == SIGN_IN
    asked = client.post(SIGN_IN, {"login": sue.email, "password": PASSWORD})
    assert asked.url.startswith("/accounts/2fa/authenticate/")
    assert client.get("/support/").url == SIGN_IN
    let_in = client.post(asked.url, {"code": code_of(sue)})
    assert let_in.url == "/support/"
    assert client.get("/support/").status_code == 200


def test_a_wrong_code_lets_nobody_in(sue: User) -> None:
    client = Client()
    asked = client.post(SIGN_IN, {"login": sue.email, "password": PASSWORD})
    assert client.post(asked.url, {"code": "000000"}).status_code == 200
    assert client.get("/support/").url == SIGN_IN


def test_attempts_are_counted_as_at_any_sign_in(sue: User) -> None:
    client = Client()
    for _ in range(6):
        client.post(SIGN_IN, {"login": sue.email, "password": "wrong"})
    refused = client.post(SIGN_IN, {"login": sue.email, "password": PASSWORD})
    assert refused.status_code == 200
    assert "Too many failed login attempts" in refused.content.decode()


def test_staff_without_a_second_factor_are_told_to_set_one_up(sue: User) -> None:
    Authenticator.objects.filter(user=sue).delete()
    page = signed_in(sue, factor=False).get("/support/")
    assert page.status_code == 403
    assert "Two-factor sign-in" in page.content.decode()


def test_a_session_begun_without_the_factor_is_asked_for_it(sue: User) -> None:
    """As it is when the factor was set up during the session."""
    client = signed_in(sue, factor=False)
    asked = client.get("/support/accounts/team/?team=1")
    assert asked.url.startswith("/accounts/2fa/reauthenticate/?next=%2Fsupport%2Faccounts")
    assert client.get(asked.url).status_code == 200
    back = client.post(asked.url, {"code": code_of(sue)})
    assert back.url == "/support/accounts/team/?team=1"
    assert client.get("/support/").status_code == 200


def test_a_factor_of_another_person_in_the_session_does_not_count(sue: User) -> None:
    client = signed_in(sue)
    session = client.session
    session["account_authentication_methods_user"] = str(sue.pk + 1)
    session.save()
    assert client.get("/support/").url.startswith("/accounts/2fa/reauthenticate/")


def test_taking_the_factor_away_closes_the_door_at_once(sue: User) -> None:
    client = signed_in(sue)
    assert client.get("/support/").status_code == 200
    Authenticator.objects.filter(user=sue).delete()
    assert client.get("/support/").status_code == 403


@pytest.mark.parametrize("lost", [{"is_staff": False}, {"is_active": False}])
def test_who_is_no_staff_any_more_is_out_at_the_next_click(
    sue: User, lost: dict[str, bool]
) -> None:
    client = signed_in(sue)
    assert client.get("/support/").status_code == 200
    User.objects.filter(pk=sue.pk).update(**lost)
    assert client.get("/support/").status_code == (404 if "is_staff" in lost else 302)


def test_a_session_that_ended_lets_nobody_in(sue: User) -> None:
    client = signed_in(sue)
    with time_machine.travel(timezone.now() + timedelta(days=15)):
        assert client.get("/support/").url == SIGN_IN


def test_djangos_own_sign_in_is_nowhere(sue: User) -> None:
    """The address is one of the site's like any other: it leads to the desk's sign-in."""
    form = {"username": sue.email, "password": PASSWORD, "next": "/support/"}
    client = Client()
    assert client.post("/support/login/", form).url.startswith("/accounts/login/")
    assert client.get("/support/").url == SIGN_IN
    assert signed_in(sue).get("/support/login/").status_code == 404
