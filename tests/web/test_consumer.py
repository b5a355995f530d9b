"""The live socket on a running desk: real sessions, real membership, a real channel layer."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings as django_settings
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.test import Client
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.accounts.sessions import TEAM_KEY
from mcpdesk.audit.log import DESK, record
from mcpdesk.web import consumers, members, own_sessions
from mcpdesk.web.notify_layer import TOPIC
from tests.factories import MembershipFactory, TeamFactory

HEARD_WITHIN_S = 10


def sign_in(user: User, team: Team | None = None) -> str:
    """The session cookie of a signed-in browser."""
    client = Client()
    client.force_login(user)
    if team is not None:
        session = client.session
        session[TEAM_KEY] = team.pk
        session.save()
    return client.cookies[django_settings.SESSION_COOKIE_NAME].value


class Page:
    """A browser's socket."""

    def __init__(self, desk_url: str, cookie: str, origin: str | None = None) -> None:
        self.stack = ExitStack()
        opening = connect(
            desk_url.replace("http:", "ws:") + "/ws/live/",
            origin=origin or desk_url,  # type: ignore[arg-type]
            additional_headers={"Cookie": f"{django_settings.SESSION_COOKIE_NAME}={cookie}"},
        )
        self.socket: ClientConnection = self.stack.enter_context(opening)

    def heard(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.socket.recv(HEARD_WITHIN_S))
        return message

    def close_code(self) -> int | None:
        with pytest.raises(ConnectionClosed):
            self.socket.recv(HEARD_WITHIN_S)
        return self.socket.close_code


@pytest.fixture
def member(live_layer: str) -> Membership:
    return MembershipFactory(role="operator")


@pytest.fixture
def open_page(desk_url: str) -> Any:
    """Opens sockets that are ready to hear, and closes them after the test."""
    pages: list[Page] = []

    def open_one(cookie: str) -> Page:
        page = Page(desk_url, cookie)
        pages.append(page)
        assert page.heard() == {"type": "ready"}
        return page

    yield open_one
    for page in pages:
        page.stack.close()


@pytest.fixture
def check_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "CHECK_APART", timedelta(0))


def change(team: Team, **ids: Any) -> None:
    """An event as the engine records it: its ids are announced once it is committed."""
    with transaction.atomic():
        record(
            "operation.check_requested", team_id=team.pk, actor=DESK, now=datetime.now(UTC), **ids
        )


def test_a_member_hears_which_operation_changed_and_nothing_else(
    member: Membership, open_page: Any
) -> None:
    page, operation = open_page(sign_in(member.user)), uuid4()
    change(member.team, operation_id=operation, server_id=7)
    assert page.heard() == {"operation": str(operation), "approval": None, "server": 7}


def test_a_change_in_another_team_is_not_heard(member: Membership, open_page: Any) -> None:
    page, mine = open_page(sign_in(member.user)), uuid4()
    change(TeamFactory(), operation_id=uuid4())
    change(member.team, operation_id=mine)
    assert page.heard()["operation"] == str(mine)


def test_a_change_that_is_rolled_back_is_not_announced(member: Membership, open_page: Any) -> None:
    page, kept = open_page(sign_in(member.user)), uuid4()
    with pytest.raises(RuntimeError), transaction.atomic():
        change(member.team, operation_id=uuid4())
        raise RuntimeError
    change(member.team, operation_id=kept)
    assert page.heard()["operation"] == str(kept)


def test_the_team_of_the_session_decides_what_is_heard(member: Membership, open_page: Any) -> None:
    second, here = MembershipFactory(user=member.user), uuid4()
    page = open_page(sign_in(member.user, second.team))
    change(member.team, operation_id=uuid4())
    change(second.team, operation_id=here)
    assert page.heard()["operation"] == str(here)


def test_all_pages_of_a_team_hear_a_change(member: Membership, open_page: Any) -> None:
    colleague, operation = MembershipFactory(team=member.team), uuid4()
    pages = [open_page(sign_in(one.user)) for one in (member, member, colleague)]
    change(member.team, operation_id=operation)
    assert [page.heard()["operation"] for page in pages] == [str(operation)] * 3


def test_without_a_session_the_socket_closes_as_signed_out(desk_url: str) -> None:
    assert Page(desk_url, "no-such-session").close_code() == 4401


def test_a_person_without_a_team_is_told_so_by_the_close_code(
    member: Membership, desk_url: str
) -> None:
    cookie = sign_in(member.user)
    member.delete()
    assert Page(desk_url, cookie).close_code() == 4403


def test_another_sites_page_cannot_open_the_socket(member: Membership, desk_url: str) -> None:
    with pytest.raises(InvalidStatus):
        Page(desk_url, sign_in(member.user), origin="https://evil.example")


def deactivate(member: Membership) -> None:
    User.objects.filter(pk=member.user_id).update(is_active=False)


def sign_out(member: Membership) -> None:
    Session.objects.all().delete()


def change_password(member: Membership) -> None:
    member.user.set_password("another password here")
    member.user.save()


@pytest.mark.usefixtures("check_always")
@pytest.mark.parametrize("fall", [deactivate, sign_out, change_password])
def test_an_open_socket_closes_instead_of_passing_a_message_on(
    member: Membership, open_page: Any, fall: Callable[[Membership], None]
) -> None:
    page = open_page(sign_in(member.user))
    fall(member)
    change(member.team, operation_id=uuid4())
    assert page.close_code() == 4401


def test_a_removed_member_is_cut_off_by_the_message_about_it(
    member: Membership, open_page: Any
) -> None:
    page, team = open_page(sign_in(member.user)), member.team
    member.delete()
    change(team)  # an event about people names no operation, approval or server
    assert page.close_code() == 4403


def test_who_is_signed_out_everywhere_loses_every_open_page_at_once(
    member: Membership, open_page: Any
) -> None:
    pages = [open_page(sign_in(member.user)) for _ in range(2)]
    other = MembershipFactory(team=member.team)
    bystander = open_page(sign_in(other.user))
    members.sign_out_oneself(member.user, actor=DESK, now=datetime.now(UTC))
    assert [page.close_code() for page in pages] == [4401, 4401]
    assert bystander.heard() == {"operation": None, "approval": None, "server": None}


def test_a_session_that_is_ended_loses_its_open_page_at_once_and_the_others_stay(
    member: Membership, open_page: Any
) -> None:
    keys = [sign_in(member.user) for _ in range(3)]
    here, there, third = (open_page(key) for key in keys)
    as_of_now = Member(member.user, member.team, Role(member.role))
    row = UserSession.objects.get(session_key=keys[1])
    own_sessions.end_one(as_of_now, row.pk, datetime.now(UTC))
    assert there.close_code() == 4401
    about_people = {"operation": None, "approval": None, "server": None}
    assert [here.heard(), third.heard()] == [about_people, about_people]
    own_sessions.end_others(as_of_now, SessionStore(keys[0]), datetime.now(UTC))
    assert third.close_code() == 4401
    assert here.heard() == about_people


def test_an_idle_socket_closes_too(
    member: Membership, open_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "CHECK_EVERY_S", 0.05)
    page = open_page(sign_in(member.user))
    deactivate(member)
    assert page.close_code() == 4401


@pytest.mark.usefixtures("check_always")
def test_switching_the_team_elsewhere_closes_the_socket_of_the_old_page(
    member: Membership, open_page: Any
) -> None:
    other = MembershipFactory(user=member.user)
    cookie = sign_in(member.user, member.team)
    page, browser = open_page(cookie), Client()
    browser.cookies[django_settings.SESSION_COOKIE_NAME] = cookie
    browser.post("/team/switch/", {"team": other.team_id})
    change(member.team, operation_id=uuid4())
    assert page.close_code() == consumers.TEAM_CHANGED


def test_what_a_browser_sends_is_ignored(member: Membership, open_page: Any) -> None:
    page, mine = open_page(sign_in(member.user)), uuid4()
    page.socket.send(json.dumps({"type": "live.change", "operation": "x"}))
    change(member.team, operation_id=mine)
    assert page.heard()["operation"] == str(mine)


def test_a_page_is_told_to_refresh_after_postgresql_dropped_the_listener(
    member: Membership, open_page: Any, live_layer: str
) -> None:
    if live_layer != "postgres":
        return  # Redis makes its connections again by itself
    page, operation = open_page(sign_in(member.user)), uuid4()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'mcpdesk live'"
        )
    assert page.heard() == {"type": "ready"}
    change(member.team, operation_id=operation)
    assert page.heard()["operation"] == str(operation)


@pytest.mark.parametrize("payload", ["no hint", "[]", '{"other": 1}'])
def test_a_notification_that_is_no_hint_leaves_no_page_deaf(
    member: Membership, open_page: Any, live_layer: str, payload: str
) -> None:
    if live_layer != "postgres":
        return  # Redis carries what only the desk can read
    page = open_page(sign_in(member.user))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [TOPIC, payload])
    # it listens again, and the page is told that it may have missed something
    assert page.heard() == {"type": "ready"}
