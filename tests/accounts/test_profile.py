"""One's own name and zone, and the team one looks at."""

from datetime import UTC, datetime

import pytest
import time_machine

from mcpdesk.accounts.models import Membership
from tests.factories import MembershipFactory, OperationFactory, ServerFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def member() -> Membership:
    return MembershipFactory()


def test_times_are_shown_in_the_readers_zone_with_the_zone_named(member: Membership) -> None:
    client = signed_in(member)
    client.post("/profile/", {"name": "Ada", "time_zone": "Europe/Warsaw"})
    server = ServerFactory(team=member.team)
    at = datetime(2026, 11, 29, 13, 5, 7, tzinfo=UTC)
    operation = OperationFactory(server=server, created_at=at)
    with time_machine.travel(datetime(2026, 11, 29, 15, 0, tzinfo=UTC), tick=False):
        page = client.get(f"/operations/{operation.pk}/").content.decode()
    assert "14:05:07 CET</time>" in page
    assert 'title="2026-11-29 13:05:07 UTC"' in page


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd"])
def test_a_zone_that_does_not_exist_is_refused_and_nothing_is_saved(
    member: Membership, zone: str
) -> None:
    response = signed_in(member).post("/profile/", {"name": "New name", "time_zone": zone})
    assert response.status_code == 422
    member.user.refresh_from_db()
    assert member.user.name != "New name"


def test_a_zone_the_machine_has_forgotten_reads_as_utc(member: Membership) -> None:
    type(member.user).objects.filter(pk=member.user_id).update(time_zone="Old/Name")
    assert signed_in(member).get("/team/").status_code == 200


def test_switching_the_team_shows_the_other_one_from_then_on(member: Membership) -> None:
    other = MembershipFactory(user=member.user)
    client = signed_in(member)
    client.post("/team/switch/", {"team": other.team_id})
    assert f"<h1>{other.team}</h1>" in client.get("/team/").content.decode()


@pytest.mark.parametrize("wanted", ["0", "x", "", "99999999999999999999"])
def test_a_team_one_is_not_in_cannot_be_switched_to(member: Membership, wanted: str) -> None:
    client = signed_in(member)
    client.post("/team/switch/", {"team": wanted})
    assert f"<h1>{member.team}</h1>" in client.get("/team/").content.decode()


def test_a_foreign_teams_id_cannot_be_switched_to(member: Membership) -> None:
    client, foreign = signed_in(member), MembershipFactory()
    client.post("/team/switch/", {"team": foreign.team_id})
    assert f"<h1>{member.team}</h1>" in client.get("/team/").content.decode()
