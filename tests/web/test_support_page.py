"""The Support page of a team: who lets support in, for how long, and how it ends."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client

from mcpdesk.accounts.models import Membership, Role, SupportGrant
from mcpdesk.audit.models import Event
from tests.factories import NOW, MembershipFactory
from tests.support.staff import make_staff
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db

PAGE, LET_IN, END = "/team/support/", "/team/support/let-in/", "/team/support/end/"


@pytest.fixture
def admin() -> Membership:
    return MembershipFactory(role=Role.ADMIN, user__name="Ada")


@pytest.fixture
def client(admin: Membership) -> Client:
    return signed_in(admin)


def kinds() -> list[str]:
    return list(Event.objects.order_by("id").values_list("kind", flat=True))


@time_machine.travel(NOW, tick=False)
def test_an_admin_lets_support_look_and_everybody_reads_until_when(
    client: Client, admin: Membership
) -> None:
    assert "Support sees nothing of this team" in client.get(PAGE).content.decode()
    assert client.post(LET_IN, {"hours": "24"}).url == PAGE
    grant = SupportGrant.objects.get(team=admin.team)
    assert (grant.ends_at, grant.granted_by) == (NOW + timedelta(days=1), admin.user)
    make_staff()
    shown = browser(Role.VIEWER, admin.team).get(PAGE).content.decode()
    assert "Support may look at this team until" in shown
    assert "Sue Porter" in shown
    assert LET_IN not in shown and END not in shown
    event = Event.objects.get(kind="support.let_in")
    assert (event.actor, event.data) == (admin.user, {"until": "2026-11-30 14:00 UTC"})


def test_another_time_takes_the_place_of_the_one_before(client: Client, admin: Membership) -> None:
    with time_machine.travel(NOW, tick=False):
        client.post(LET_IN, {"hours": "168"})
        client.post(LET_IN, {"hours": "1"})
    assert SupportGrant.objects.get(team=admin.team).ends_at == NOW + timedelta(hours=1)
    assert kinds() == ["support.let_in", "support.let_in"]


def test_it_is_ended_at_once_and_ending_it_again_changes_nothing(
    client: Client, admin: Membership
) -> None:
    client.post(LET_IN, {"hours": "8"})
    for _ in range(2):
        assert client.post(END).url == PAGE
    assert not SupportGrant.objects.exists()
    assert kinds() == ["support.let_in", "support.shut_out"]


def test_what_ended_by_itself_is_not_ended_again(client: Client) -> None:
    with time_machine.travel(NOW, tick=False):
        client.post(LET_IN, {"hours": "1"})
    with time_machine.travel(NOW + timedelta(hours=2), tick=False):
        assert "Support sees nothing" in client.get(PAGE).content.decode()
        client.post(END)
    assert kinds() == ["support.let_in"]


@pytest.mark.parametrize("hours", ["", "0", "-1", "9999", "x"])
def test_no_other_time_is_taken(client: Client, hours: str) -> None:
    assert client.post(LET_IN, {"hours": hours}).status_code == 422
    assert not SupportGrant.objects.exists()


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_nobody_but_an_admin_lets_support_in_or_ends_it(admin: Membership, role: Role) -> None:
    member = browser(role, admin.team)
    assert member.post(LET_IN, {"hours": "8"}).status_code == 403
    signed_in(admin).post(LET_IN, {"hours": "8"})
    assert member.post(END).status_code == 403
    assert SupportGrant.objects.count() == 1


def test_a_team_lets_support_in_for_itself_alone(client: Client) -> None:
    other = MembershipFactory(role=Role.ADMIN)
    client.post(LET_IN, {"hours": "8"})
    assert "Support sees nothing" in signed_in(other).get(PAGE).content.decode()
    signed_in(other).post(END)
    assert SupportGrant.objects.count() == 1


def test_the_way_to_the_support_pages_is_shown_to_staff_alone(admin: Membership) -> None:
    assert 'href="/support/"' not in signed_in(admin).get(PAGE).content.decode()
    admin.user.is_staff = True
    admin.user.save()
    assert 'href="/support/"' in signed_in(admin).get(PAGE).content.decode()
