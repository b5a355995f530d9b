"""Which browsers somebody is signed in with: kept at sign-in, told while in use, never too much."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from mcpdesk.accounts import devices
from mcpdesk.accounts.devices import called, devices_of
from mcpdesk.accounts.models import Membership, User
from tests.factories import NOW, MembershipFactory

pytestmark = pytest.mark.django_db

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PASSWORD = "correct horse battery"


@pytest.fixture
def ada() -> User:
    member: Membership = MembershipFactory(user__name="Ada")
    return member.user


def sign_in(user: User, agent: str = FIREFOX, address: str = "203.0.113.9") -> Client:
    client = Client(HTTP_USER_AGENT=agent, REMOTE_ADDR=address)
    done = client.post("/accounts/login/", {"login": user.email, "password": PASSWORD})
    assert done.status_code == 302
    return client


def test_signing_in_is_known_with_browser_and_address(ada: User) -> None:
    with time_machine.travel(NOW, tick=False):
        client = sign_in(ada)
        (device,) = devices_of(ada, NOW, client.session.session_key)
    assert (device.name, device.address) == ("Firefox on Linux", "203.0.113.9")
    assert (device.begun_at, device.last_used_at, device.is_this) == (NOW, NOW, True)


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/142.0 Safari/537.36 Edg/142.0", "Edge on Windows"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/142.0 Safari/537.36", "Chrome on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Linux; Android 15) Chrome/142.0 Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Safari/605.1", "Safari on macOS"),
        ("<script>alert(1)</script>", "A browser"),
        ("", "A browser"),
    ],
)
def test_a_browser_is_called_by_what_it_says_of_itself_and_no_more(agent: str, name: str) -> None:
    assert called(agent) == name


def test_use_is_written_down_now_and_then_and_costs_nothing_between(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = sign_in(ada)
    client.get("/health/desk/")

    def writes() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get("/health/desk/")
        return sum("usersessions_usersession" in query["sql"] for query in asked)

    assert [writes(), writes()] == [0, 0]
    clock = devices.time.monotonic()
    monkeypatch.setattr(devices.time, "monotonic", lambda: clock + devices.APART_S + 1)
    later = datetime.now(UTC) + timedelta(minutes=6)
    with time_machine.travel(later, tick=False):
        assert [writes(), writes()] == [1, 0]
    assert UserSession.objects.get(user=ada).last_seen_at == later


def test_a_session_from_before_there_were_rows_gets_one_when_it_is_used(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = sign_in(ada)
    UserSession.objects.all().delete()
    monkeypatch.setattr(devices, "_written", devices._Written())
    client.get("/health/desk/")
    assert len(devices_of(ada, datetime.now(UTC))) == 1


def test_what_gives_no_access_any_more_is_not_listed(ada: User) -> None:
    expired, signed_out, changed = sign_in(ada), sign_in(ada), sign_in(ada)
    key = expired.session.session_key
    Session.objects.filter(session_key=key).update(expire_date=datetime.now(UTC))
    signed_out.post("/accounts/logout/")
    assert [one.pk for one in devices_of(ada, datetime.now(UTC))] == [
        UserSession.objects.get(session_key=changed.session.session_key).pk
    ]
    ada.set_password("another horse battery")
    ada.save()
    assert devices_of(ada, datetime.now(UTC)) == []


def test_nobody_is_shown_the_sessions_of_another(ada: User) -> None:
    other = MembershipFactory().user
    sign_in(ada)
    assert devices_of(other, datetime.now(UTC)) == []


def test_many_sessions_take_as_many_queries_as_one(ada: User) -> None:
    for number in (1, 4):
        for _ in range(number):
            Client().force_login(ada)
        with CaptureQueriesContext(connection) as asked:
            devices_of(ada, datetime.now(UTC))
        assert len(asked) == 2


def test_an_address_that_the_server_was_not_told_is_not_shown(ada: User) -> None:
    Client().force_login(ada)
    (device,) = devices_of(ada, datetime.now(UTC))
    assert device.address == ""


def test_what_ended_is_swept_and_what_stands_stays(ada: User) -> None:
    kept, gone = sign_in(ada), sign_in(ada)
    gone.post("/accounts/logout/")
    old = sign_in(ada)
    Session.objects.filter(session_key=old.session.session_key).update(expire_date=NOW)
    devices.sweep(datetime.now(UTC))
    assert list(UserSession.objects.values_list("session_key", flat=True)) == [
        kept.session.session_key
    ]
    assert not Session.objects.filter(expire_date=NOW).exists()
    assert kept.get("/health/desk/").status_code == 200


def test_a_process_remembers_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_MOST", 2)
    written = devices._Written()
    assert [written.is_due(key) for key in "aabbca"] == [True, False, True, False, True, True]
