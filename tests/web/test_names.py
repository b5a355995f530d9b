"""What people are called: nobody takes a colleague's name, or the desk's own."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from mcpdesk.web import members, profiles
from tests.factories import NOW, MembershipFactory, TeamFactory, UserFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db

#: Each would be read as Ann Noble where somebody looks for who decided.
LIKE_ANN = [
    "Ann Noble",
    "ANN NOBLE",
    "  Ann \u2003 Noble ",
    "Ann\u00a0Noble",
    "\u0410nn Noble",
    "Ann Nob1e",
    "Ａnn Noble",
]
HIDDEN = [
    "Ann\u200b Noble",
    "Ann \u202eelboN",
    "\u3164",
    "\u200b",
    "a\u0000b",
    "\u0301\u0301",
    "\ue000",
]
OF_THE_DESK = ["The desk", "the clock", "A servi\u0441e", "The server", "NOBODY", "mcpdesk"]


@pytest.fixture
def member() -> Membership:
    one = MembershipFactory(user__name="Mallory")
    MembershipFactory(team=one.team, user__name="Ann Noble")
    return one


def _named(member: Membership, name: str) -> Any:
    return signed_in(member).post("/profile/", {"name": name, "time_zone": "Europe/Warsaw"})


@pytest.mark.parametrize("name", [*LIKE_ANN, *HIDDEN, *OF_THE_DESK, "", "x" * 121])
def test_nobody_takes_a_name_that_is_read_as_somebody_elses(member: Membership, name: str) -> None:
    response = _named(member, name)
    assert response.status_code == 422
    member.user.refresh_from_db()
    assert (member.user.name, member.user.time_zone) == ("Mallory", "UTC")
    assert not Event.objects.exists()


def test_the_name_of_somebody_who_left_is_not_to_be_had_either(member: Membership) -> None:
    User.objects.filter(name="Ann Noble").update(is_active=False)
    assert _named(member, "Ann Noble").status_code == 422


def test_a_name_that_another_team_knows_is_free(member: Membership) -> None:
    MembershipFactory(user__name="Zoë Stranger")
    assert _named(member, "Zoe Stranger").status_code == 302


@pytest.mark.parametrize(
    "name", ["José Ángel", "李小龍", "محمد علي", "Ann Noble (Finance)", "O’Neil"]
)
def test_another_name_is_told_to_each_of_ones_teams(member: Membership, name: str) -> None:
    other = MembershipFactory(user=member.user)
    assert _named(member, f" {name} ").status_code == 302
    member.user.refresh_from_db()
    assert member.user.name == name
    told = Event.objects.filter(kind="user.renamed", actor=member.user)
    assert set(told.values_list("team_id", flat=True)) == {member.team_id, other.team_id}
    assert {event.sentence for event in told} == {"Mallory changed their name"}


def test_another_zone_is_no_other_name(member: Membership) -> None:
    User.objects.filter(pk=member.user_id).update(name="The desk")  # from before names were checked
    assert _named(member, "The desk").status_code == 302
    member.user.refresh_from_db()
    assert member.user.time_zone == "Europe/Warsaw"
    assert not Event.objects.exists()


def _added(team: Team, email: str, name: str) -> object:
    admin = Membership.objects.filter(team=team, role=Role.ADMIN).first()
    admin = admin or MembershipFactory(team=team, role=Role.ADMIN)
    actor = Actor.person(Member(admin.user, team, Role.ADMIN))
    return members.add_member(
        team_id=team.pk,
        email=email,
        name=name,
        role=Role.APPROVER,
        password="",
        actor=actor,
        now=NOW,
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("email", "name"), [("new@example.test", "Ann Noble"), ("ann.noble@example.test", "")]
)
def test_no_account_is_made_in_a_colleagues_name(email: str, name: str) -> None:
    team = MembershipFactory(user__name="Ann Noble").team
    MembershipFactory(team=team, user__name="ann.noble")
    with pytest.raises(Refused, match="look the same"):
        _added(team, email, name)
    assert not User.objects.filter(email=email).exists()


@pytest.mark.django_db(transaction=True)
def test_nobody_brings_a_colleagues_name_along_from_another_team() -> None:
    team = MembershipFactory(user__name="Ann Noble").team
    UserFactory(name="Ann NobIe", email="mallory@example.test")
    with pytest.raises(Refused, match="look the same"):
        _added(team, "mallory@example.test", "")
    assert team.memberships.filter(role=Role.APPROVER).count() == 1


def _both_want_it(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Two people who take one name at once; each has looked before the other writes, if it can."""
    team = TeamFactory()
    people = [access.member_in(MembershipFactory(team=team).user, team.pk) for _ in range(2)]
    both_looked, checked = threading.Barrier(2), profiles.checked_name

    def look(*args: Any, **more: Any) -> str:
        name = checked(*args, **more)
        # broken: the other one waits for the lock, as it should
        with suppress(threading.BrokenBarrierError):
            both_looked.wait(timeout=1)
        return name

    monkeypatch.setattr(profiles, "checked_name", look)

    def take(member: Member) -> object:
        try:
            return profiles.change_profile(member, name="Ann Noble", time_zone="UTC", now=NOW)
        except Refused as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(take, [one for one in people if one]))


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_one_name_at_once_one_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = _both_want_it(monkeypatch)
    assert sum(isinstance(outcome, Refused) for outcome in outcomes) == 1
    assert User.objects.filter(name="Ann Noble").count() == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_both_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **_: rows)
    assert not [one for one in _both_want_it(monkeypatch) if isinstance(one, Refused)]
    assert User.objects.filter(name="Ann Noble").count() == 2
