"""One person as an admin of the team sees them, and the end of all their sessions."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from mcpdesk.accounts.models import Membership, Role
from mcpdesk.accounts.sessions import Fallen, standing
from mcpdesk.audit.models import Event
from tests.factories import NOW, AbsenceFactory, MembershipFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Membership:
    return MembershipFactory(role=Role.ADMIN)


@pytest.fixture
def client(admin: Membership) -> Client:
    return signed_in(admin)


@pytest.fixture
def ada(admin: Membership) -> Membership:
    return MembershipFactory(team=admin.team, role=Role.APPROVER, user__name="Ada")


def page(client: Client, of: Membership) -> str:
    response = client.get(f"/team/people/{of.user_id}/")
    assert response.status_code == 200
    return response.content.decode()


def test_roles_absences_and_the_last_sign_in_stand_there(client: Client, ada: Membership) -> None:
    ada.role = Role.OPERATOR
    ada.save()
    AbsenceFactory(team=ada.team, user=ada.user, stand_in__name="Standing Stan").delete()
    shown = page(client, ada)
    assert "has never signed in" in shown
    assert shown.index("<strong>Operator</strong>") < shown.index("<strong>Approver</strong>")
    assert "Standing Stan" in shown
    assert "changed or taken back" in shown


def test_who_left_the_team_is_still_known(client: Client, ada: Membership) -> None:
    ada.delete()
    shown = page(client, ada)
    assert "not in the team any more" in shown
    assert "Sign out everywhere" not in shown
    assert client.post(f"/team/people/{ada.user_id}/sign-out/").status_code == 404


def test_somebody_of_another_team_does_not_exist(client: Client) -> None:
    other = MembershipFactory()
    assert client.get(f"/team/people/{other.user_id}/").status_code == 404
    assert client.post(f"/team/people/{other.user_id}/sign-out/").status_code == 404


def test_signing_out_ends_every_session_and_its_sockets(client: Client, ada: Membership) -> None:
    browsers = [signed_in(ada), signed_in(ada)]
    keys = [browser.session.session_key for browser in browsers]
    assert client.post(f"/team/people/{ada.user_id}/sign-out/").status_code == 302
    for browser, key in zip(browsers, keys, strict=True):
        # what an open socket asks, at once because of the event, and then closes
        assert Session.objects.filter(session_key=key).exists()
        assert standing(key, NOW) is Fallen.SIGNED_OUT
        assert browser.get("/team/").url.startswith("/accounts/login/")
    assert client.get("/team/").status_code == 200
    assert Event.objects.get(kind="user.signed_out").data["person"] == "Ada"


def test_who_was_signed_out_can_sign_in_again_and_again_be_signed_out(
    client: Client, ada: Membership
) -> None:
    for _ in range(2):
        assert client.post(f"/team/people/{ada.user_id}/sign-out/").status_code == 302
        browser = signed_in(Membership.objects.get(pk=ada.pk))
        assert browser.get("/team/").status_code == 200
    assert Event.objects.filter(kind="user.signed_out").count() == 2


def test_a_person_of_two_teams_is_signed_out_by_an_admin_of_both_alone(
    client: Client, ada: Membership, admin: Membership
) -> None:
    elsewhere = MembershipFactory(user=ada.user)
    browser = signed_in(ada)
    client.post(f"/team/people/{ada.user_id}/sign-out/")
    assert browser.get("/team/").status_code == 200
    assert not Event.objects.filter(kind="user.signed_out").exists()
    MembershipFactory(team=elsewhere.team, user=admin.user, role=Role.ADMIN)
    client.post(f"/team/people/{ada.user_id}/sign-out/")
    assert browser.get("/team/").status_code == 302
    teams = Event.objects.filter(kind="user.signed_out").values_list("team", flat=True)
    assert set(teams) == {ada.team_id, elsewhere.team_id}


def test_everybody_ends_all_sessions_of_their_own(ada: Membership) -> None:
    here, there = signed_in(ada), signed_in(ada)
    assert here.post("/profile/sign-out/").url == "/accounts/login/"
    assert here.get("/team/").status_code == 302
    assert there.get("/team/").status_code == 302
