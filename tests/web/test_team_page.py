"""The Team page: every verb, its refusals, its event."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, User
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from mcpdesk.web import members
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import NOW, MembershipFactory, UserFactory
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db

NEW = {"email": "new@example.test", "name": "Nora New", "role": "operator", "password": ""}


@pytest.fixture
def admin() -> Membership:
    return MembershipFactory(role=Role.ADMIN)


@pytest.fixture
def client(admin: Membership) -> Client:
    return signed_in(admin)


def events(kind: str) -> list[dict[str, Any]]:
    """What the events say; whose name it is stands beside it, and is checked here."""
    found = []
    for data in Event.objects.filter(kind=kind).values_list("data", flat=True):
        assert User.objects.get(pk=data.pop("person_id")).name == data["person"]
        found.append(data)
    return found


def test_adding_a_new_person_shows_a_password_once_that_lets_them_in(
    client: Client, admin: Membership
) -> None:
    response = client.post("/team/add/", NEW)
    password = response.context["added"].temporary_password
    assert password in response.content.decode()
    assert password not in client.get("/team/").content.decode()
    assert Client().login(email="new@example.test", password=password)
    added = Membership.objects.get(user__email="new@example.test")
    assert (added.team, added.role) == (admin.team, "operator")
    assert events("member.added") == [{"person": "Nora New", "role": "operator"}]


def test_a_password_the_admin_sets_is_kept_and_not_shown(client: Client) -> None:
    response = client.post("/team/add/", {**NEW, "password": "violet tractor 9"})
    assert "violet tractor 9" not in response.content.decode()
    assert User.objects.get(email="new@example.test").check_password("violet tractor 9")


def test_a_weak_password_is_refused_and_nothing_is_lost(client: Client) -> None:
    response = client.post("/team/add/", {**NEW, "password": "abc"})
    assert response.status_code == 422
    assert "too short" in response.content.decode()
    assert 'value="new@example.test"' in response.content.decode()
    assert not User.objects.filter(email="new@example.test").exists()


def test_somebody_who_has_an_account_joins_with_their_own_password(client: Client) -> None:
    user = UserFactory(email="new@example.test", name="Had one")
    client.post("/team/add/", NEW)
    user.refresh_from_db()
    assert user.name == "Had one"
    assert user.check_password("correct horse battery")
    assert Membership.objects.filter(user=user, role="operator").exists()


def test_nobody_is_added_twice(client: Client) -> None:
    client.post("/team/add/", NEW)
    response = client.post("/team/add/", {**NEW, "email": "NEW@example.test", "role": "viewer"})
    assert response.status_code == 422
    assert "in this team already, as Operator" in response.content.decode()
    assert len(events("member.added")) == 1


def test_a_deactivated_person_cannot_be_added(client: Client) -> None:
    UserFactory(email="new@example.test", is_active=False)
    assert "was deactivated" in client.post("/team/add/", NEW).content.decode()
    assert events("member.added") == []


def test_a_role_changes_with_an_event_that_says_from_what_to_what(
    client: Client, admin: Membership
) -> None:
    other = MembershipFactory(team=admin.team, role=Role.VIEWER, user__name="Vera")
    client.post(f"/team/{other.pk}/role/", {"role": "auditor"})
    other.refresh_from_db()
    assert other.role == "auditor"
    assert events("member.role_changed") == [
        {"person": "Vera", "before": "viewer", "after": "auditor"}
    ]


def test_the_same_role_again_is_no_event(client: Client, admin: Membership) -> None:
    other = MembershipFactory(team=admin.team, role=Role.VIEWER)
    client.post(f"/team/{other.pk}/role/", {"role": "viewer"})
    assert events("member.role_changed") == []


def test_a_role_that_does_not_exist_changes_nothing(client: Client, admin: Membership) -> None:
    client.post(f"/team/{admin.pk}/role/", {"role": "owner"})
    admin.refresh_from_db()
    assert admin.role == "admin"


@pytest.mark.parametrize("verb", ["role", "remove", "deactivate"])
def test_the_last_admin_of_a_team_stays(client: Client, admin: Membership, verb: str) -> None:
    MembershipFactory(team=admin.team, role=Role.ADMIN, user__is_active=False)
    client.post(f"/team/{admin.pk}/{verb}/", {"role": "viewer"})
    admin.refresh_from_db()
    admin.user.refresh_from_db()
    assert (admin.role, admin.user.is_active) == ("admin", True)
    assert "is the only admin" in client.get("/team/").content.decode()


def test_a_removed_member_keeps_the_account(client: Client, admin: Membership) -> None:
    other = MembershipFactory(team=admin.team, user__name="Rex")
    client.post(f"/team/{other.pk}/remove/")
    assert not Membership.objects.filter(pk=other.pk).exists()
    assert User.objects.get(name="Rex").is_active
    assert events("member.removed") == [{"person": "Rex"}]


def test_deactivating_closes_the_account_and_keeps_the_name(
    client: Client, admin: Membership
) -> None:
    other = MembershipFactory(team=admin.team, user__name="Dora")
    client.post(f"/team/{other.pk}/deactivate/")
    assert not User.objects.get(name="Dora").is_active
    assert events("user.deactivated") == [{"person": "Dora"}]
    assert "Dora" in client.get("/team/").content.decode()


def test_an_admin_of_one_team_cannot_close_an_account_that_another_team_uses(
    client: Client, admin: Membership
) -> None:
    other = MembershipFactory(team=admin.team)
    elsewhere = MembershipFactory(user=other.user)
    client.post(f"/team/{other.pk}/deactivate/")
    other.user.refresh_from_db()
    assert other.user.is_active
    page = client.get("/team/").content.decode()
    assert "a team that you are not an admin of" in page
    assert str(elsewhere.team) not in page


def test_each_team_of_a_deactivated_person_gets_the_event(
    client: Client, admin: Membership
) -> None:
    other = MembershipFactory(team=admin.team)
    second = MembershipFactory(user=other.user)
    MembershipFactory(user=admin.user, team=second.team, role=Role.ADMIN)
    client.post(f"/team/{other.pk}/deactivate/")
    teams = set(Event.objects.filter(kind="user.deactivated").values_list("team", flat=True))
    assert teams == {admin.team_id, second.team_id}


def test_a_closed_account_can_be_opened_again(client: Client, admin: Membership) -> None:
    other = MembershipFactory(team=admin.team, user__name="Dora", user__is_active=False)
    assert "Activate again" in client.get("/team/").content.decode()
    client.post(f"/team/{other.pk}/reactivate/")
    assert User.objects.get(name="Dora").is_active
    assert events("user.reactivated") == [{"person": "Dora"}]


def test_a_forgotten_password_is_replaced_by_one_shown_once_and_sessions_end(
    client: Client, admin: Membership
) -> None:
    other = MembershipFactory(team=admin.team, user__name="Finn")
    theirs = signed_in(other)
    response = client.post(f"/team/{other.pk}/password/")
    made = response.context["new_password"]
    assert made in response.content.decode()
    assert made not in client.get("/team/").content.decode()
    assert Client().login(email=other.user.email, password=made)
    assert theirs.get("/team/").status_code == 302
    assert events("user.password_set") == [{"person": "Finn"}]


def test_ones_own_password_is_not_replaced_here(client: Client, admin: Membership) -> None:
    client.post(f"/team/{admin.pk}/password/")
    admin.user.refresh_from_db()
    assert admin.user.check_password("correct horse battery")


def test_an_admin_cannot_take_over_somebody_whom_another_team_trusts(
    client: Client, admin: Membership
) -> None:
    other = MembershipFactory(team=admin.team)
    MembershipFactory(user=other.user, role=Role.ADMIN)
    client.post(f"/team/{other.pk}/password/")
    other.user.refresh_from_db()
    assert other.user.check_password("correct horse battery")
    assert "a team that you are not an admin of" in client.get("/team/").content.decode()


VERBS = ["role", "remove", "deactivate", "reactivate", "password"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_member_of_another_team_cannot_be_reached(
    client: Client, admin: Membership, verb: str
) -> None:
    foreign = MembershipFactory(role=Role.VIEWER)
    client.post(f"/team/{foreign.pk}/{verb}/", {"role": "admin"})
    foreign.refresh_from_db()
    foreign.user.refresh_from_db()
    assert (foreign.role, foreign.user.is_active) == ("viewer", True)
    assert not Event.objects.exists()


def _demote_each_other(first: Membership) -> list[Any]:
    """Two of three admins at the same moment: what each of them was told."""
    second, _ = MembershipFactory.create_batch(2, team=first.team, role=Role.ADMIN)

    def demote(by: Membership, whom: Membership) -> Membership:
        actor = Actor.person(Member(by.user, by.team, Role.ADMIN))
        return members.change_role(
            whom.pk, team_id=by.team_id, role=Role.VIEWER, actor=actor, now=NOW
        )

    with meeting_after("mcpdesk.web.members.locked_for"):
        return side_by_side(lambda: demote(first, second), lambda: demote(second, first))


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_demote_each_other_at_once_one_is_admin_no_more_and_is_told(
    admin: Membership,
) -> None:
    assert {type(told) for told in _demote_each_other(admin)} == {Membership, PermissionDenied}
    assert admin.team.memberships.filter(role=Role.ADMIN).count() == 2


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_both_are_demoted(admin: Membership) -> None:
    with locks_off():
        _demote_each_other(admin)
    assert admin.team.memberships.filter(role=Role.ADMIN).count() == 1


@pytest.mark.parametrize("role", [r for r in Role if r is not Role.ADMIN])
def test_only_admins_change_members(admin: Membership, role: Role) -> None:
    client = browser(role, admin.team)
    assert "Add a member" not in client.get("/team/").content.decode()
    for path in ("add", *(f"{admin.pk}/{verb}" for verb in VERBS)):
        assert client.post(f"/team/{path}/", NEW).status_code == 403
    assert not Event.objects.exists()


def test_the_page_costs_the_same_for_a_team_of_any_size(
    client: Client, admin: Membership, django_assert_num_queries: Any
) -> None:
    MembershipFactory.create_batch(20, team=admin.team)
    # session, user, memberships, whom they stand in for, the page, the inbox's count,
    # heartbeats, holds, alerts
    with django_assert_num_queries(9):
        client.get("/team/")
