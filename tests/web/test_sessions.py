"""One's own sessions on the profile: ending one, ending the others; and what an admin sees."""

from datetime import UTC, datetime

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from mcpdesk.accounts.devices import devices_of
from mcpdesk.accounts.models import Membership, Role, User
from mcpdesk.accounts.sessions import Fallen, standing
from mcpdesk.audit.models import Event
from tests.factories import NOW, MembershipFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db

OTHERS = "/profile/sessions/end-others/"


@pytest.fixture
def ada() -> Membership:
    return MembershipFactory(role=Role.APPROVER, user__name="Ada")


def row(client: Client) -> UserSession:
    return UserSession.objects.get(session_key=client.session.session_key)


def end(client: Client, session: UserSession) -> int:
    return int(client.post(f"/profile/sessions/{session.pk}/end/").status_code)


def events() -> list[tuple[str, int]]:
    kept = Event.objects.filter(kind__startswith="user.").order_by("id")
    return list(kept.values_list("kind", "team"))


def is_in(client: Client) -> bool:
    return client.get("/profile/").status_code == 200


def test_the_profile_lists_ones_sessions_and_says_which_is_this_one(ada: Membership) -> None:
    here, there = signed_in(ada), signed_in(ada)
    shown = here.get("/profile/").content.decode()
    assert shown.count("this one</span>") == 1
    assert f"/profile/sessions/{row(there).pk}/end/" in shown
    assert f"/profile/sessions/{row(here).pk}/end/" not in shown
    assert OTHERS in shown
    assert here.session.session_key not in shown


def test_ending_one_ends_that_one_with_its_open_pages_and_no_other(ada: Membership) -> None:
    here, there, third = (signed_in(ada) for _ in range(3))
    key = there.session.session_key
    assert end(here, row(there)) == 302
    # what an open socket asks, at once because of the event, and then closes
    assert standing(key, NOW) is Fallen.SIGNED_OUT
    assert [is_in(client) for client in (here, there, third)] == [True, False, True]
    assert events() == [("user.session_ended", ada.team_id)]


def test_the_same_session_is_ended_once(ada: Membership) -> None:
    here, there = signed_in(ada), signed_in(ada)
    session = row(there)
    assert [end(here, session), end(here, session)] == [302, 404]
    assert len(events()) == 1


@pytest.mark.parametrize("role", list(Role))
def test_nobody_ends_the_session_of_another_whatever_their_role(
    ada: Membership, role: Role
) -> None:
    theirs = signed_in(ada)
    colleague = signed_in(MembershipFactory(team=ada.team, role=role))
    assert end(colleague, row(theirs)) == 404
    assert is_in(theirs)
    assert events() == []


@pytest.mark.parametrize("role", list(Role))
def test_every_role_ends_sessions_of_its_own(role: Role) -> None:
    member = MembershipFactory(role=role)
    here, there = signed_in(member), signed_in(member)
    assert end(here, row(there)) == 302
    assert not is_in(there)


def test_ending_the_session_one_uses_signs_out_here(ada: Membership) -> None:
    here = signed_in(ada)
    assert end(here, row(here)) == 302
    assert not is_in(here)


def test_ending_all_others_leaves_this_one_and_its_open_pages(ada: Membership) -> None:
    here, there, third = (signed_in(ada) for _ in range(3))
    key = here.session.session_key
    assert here.post(OTHERS).url == "/profile/"
    assert not isinstance(standing(key, NOW), Fallen)
    assert here.session.session_key == key
    assert [is_in(client) for client in (here, there, third)] == [True, False, False]
    assert len(devices_of(User.objects.get(pk=ada.user_id), datetime.now(UTC))) == 1
    assert events() == [("user.others_ended", ada.team_id)]


def test_a_session_that_no_row_knows_of_is_ended_with_the_others(ada: Membership) -> None:
    here, unknown = signed_in(ada), signed_in(ada)
    row(unknown).delete()
    here.post(OTHERS)
    assert Session.objects.filter(session_key=unknown.session.session_key).exists()
    assert not is_in(unknown)


def test_ending_the_others_again_leaves_this_one_again(ada: Membership) -> None:
    here = signed_in(ada)
    for _ in range(2):
        assert here.post(OTHERS).status_code == 302
        assert is_in(here)
    assert len(events()) == 2


def test_who_ended_the_others_is_signed_out_everywhere_as_before(ada: Membership) -> None:
    here = signed_in(ada)
    here.post(OTHERS)
    here.post("/profile/sign-out/")
    assert not is_in(here)


def test_each_team_of_the_person_learns_of_it(ada: Membership) -> None:
    elsewhere = MembershipFactory(user=ada.user)
    here, there = signed_in(ada), signed_in(elsewhere)
    end(here, row(there))
    assert {team for _, team in events()} == {ada.team_id, elsewhere.team_id}


def test_other_peoples_sessions_stay_when_one_ends_all_others(ada: Membership) -> None:
    colleague = signed_in(MembershipFactory(team=ada.team))
    signed_in(ada).post(OTHERS)
    assert is_in(colleague)


def test_the_sign_in_librarys_own_page_of_sessions_leads_to_the_profile(ada: Membership) -> None:
    here, there = signed_in(ada), signed_in(ada)
    for response in (here.get("/accounts/sessions/"), here.post("/accounts/sessions/")):
        assert response.url == "/profile/"
    assert is_in(there)


def test_an_admin_sees_how_many_and_when_but_neither_browser_nor_address(ada: Membership) -> None:
    admin = signed_in(MembershipFactory(team=ada.team, role=Role.ADMIN))
    page = f"/team/people/{ada.user_id}/"
    assert "Not signed in anywhere" in admin.get(page).content.decode()
    signed_in(ada)
    UserSession.objects.filter(user=ada.user).update(ip="203.0.113.9", user_agent="Firefox/140.0")
    with CaptureQueriesContext(connection) as one:
        shown = admin.get(page).content.decode()
    assert shown.count("Last used") == 1
    assert "203.0.113" not in shown and "Firefox" not in shown
    signed_in(ada)
    with CaptureQueriesContext(connection) as two:
        shown = admin.get(page).content.decode()
    assert shown.count("Last used") == 2
    assert len(one) == len(two)
    admin.post(f"{page}sign-out/")
    assert "Not signed in anywhere" in admin.get(page).content.decode()
