"""Who may call: 401, 403 and 429, for each way to come without the right to."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from mcpdesk.accounts.models import Membership, Role, Team
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api.limits import MOST_FAILURES
from tests.api.calling import PROBLEM, ROOT, Caller, a_token, of, person, service
from tests.factories import MembershipFactory, ServerFactory, TeamFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return TeamFactory()


def test_a_token_says_whose_it_is(team: Team) -> None:
    viewer = person(team, Role.VIEWER)
    assert viewer.get("/me").json() | {"expires_at": None} == {
        "kind": "person",
        "name": str(viewer.token.user),
        "team": str(team),
        "role": "viewer",
        "token": "laptop",
        "scopes": list(Scope),
        "expires_at": None,
    }
    assert service(team).get("/me").json()["kind"] == "service"


def test_a_cookie_opens_nothing(team: Team) -> None:
    browser = signed_in(MembershipFactory(team=team, role=Role.ADMIN))
    answer = browser.get(f"{ROOT}/operations")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == 'Bearer realm="mcpdesk"'


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic bWRrXw==", "Bearer mdk_wrong", "bearer \x00", "mdk_"]
)
def test_what_is_no_token_is_a_401(header: str, db: None) -> None:
    answer = Client().get(f"{ROOT}/me", headers={"Authorization": header})
    assert (answer.status_code, answer["Content-Type"]) == (401, PROBLEM)


def test_revoked_expired_and_of_somebody_who_left_all_look_alike(team: Team) -> None:
    now = datetime.now(UTC)
    left = person(team)
    Membership.objects.filter(user=left.token.user).delete()
    gone = person(team)
    type(gone.token.user).objects.filter(pk=gone.token.user_id).update(is_active=False)
    dead = [left, gone, person(team, revoked_at=now), service(team, expires_at=now)]
    answers = [caller.get("/me") for caller in dead]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert 'error="invalid_token"' in answers[0]["WWW-Authenticate"]


def test_a_scope_that_the_token_was_not_made_for_is_named(team: Team) -> None:
    answer = person(team, scopes=[Scope.READ]).start(server="s", tool="t")
    assert answer.status_code == 403
    assert answer.json()["type"] == "urn:mcpdesk:problem:scope"
    assert 'scope="start"' in answer["WWW-Authenticate"]


def test_a_role_that_was_taken_away_counts_at_once(team: Team) -> None:
    membership = MembershipFactory(team=team, role=Role.OPERATOR)
    ServerFactory(team=team, name="s")
    caller = of(membership)
    assert caller.start(server="s", tool="t").status_code == 202
    Membership.objects.filter(pk=membership.pk).update(role=Role.VIEWER)
    answer = caller.start(key="again", server="s", tool="t")
    assert answer.status_code == 403
    assert answer.json()["type"] == "urn:mcpdesk:problem:role"


def test_what_is_left_of_the_limit_stands_in_every_answer(team: Team, settings: Any) -> None:
    settings.API = {"RATE": 3}
    caller = person(team, Role.VIEWER)
    left = [caller.get("/me")["RateLimit"].split(";")[1] for _ in range(2)]
    assert left == ["r=2", "r=1"]
    assert caller.get("/nothing")["Content-Type"] == PROBLEM
    assert caller.get("/events")["RateLimit-Policy"] == '"token";q=3;w=60'


def test_one_too_many_is_a_429_until_the_minute_is_over(team: Team, settings: Any) -> None:
    settings.API = {"RATE": 2}
    caller, other = person(team), person(team)
    with time_machine.travel(datetime(2026, 11, 29, 14, 0, tzinfo=UTC), tick=False) as time:
        answers = [caller.get("/me") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[-1]["Retry-After"] == "60"
        assert answers[-1].json()["type"] == "urn:mcpdesk:problem:rate-limit"
        assert other.get("/me").status_code == 200
        time.shift(timedelta(seconds=60))
        assert caller.get("/me").status_code == 200


def test_an_address_that_guesses_is_put_off_and_its_neighbours_are_not(team: Team) -> None:
    def status(address: str, secret: str = "mdk_x") -> int:
        headers = {"Authorization": f"Bearer {secret}"}
        return Client(REMOTE_ADDR=address).get(f"{ROOT}/me", headers=headers).status_code

    guesses = [status("2001:db8::1") for _ in range(MOST_FAILURES)]
    assert set(guesses) == {401}
    # the next address of the same network
    assert status("2001:db8::2") == 429
    assert status("2001:db8:0:1::1") == 401
    # whoever has a token there is not put off with them
    assert status("2001:db8::2", person(team).secret) == 200


@pytest.mark.parametrize("address", ["", "unix:"])
def test_whose_address_is_not_known_is_a_401_too(address: str, db: None) -> None:
    assert Client(REMOTE_ADDR=address).get(f"{ROOT}/me").status_code == 401


def test_the_last_use_is_noted(team: Team) -> None:
    caller = person(team)
    caller.get("/me")
    caller.token.refresh_from_db()
    assert caller.token.last_used_at is not None
    assert caller.token.last_used_at.second == 0


def test_a_foreign_token_reads_its_own_team(team: Team) -> None:
    ServerFactory(team=team, name="here")
    assert person(TeamFactory()).get("/servers").json() == []


def test_a_request_costs_few_queries(team: Team, django_assert_max_num_queries: Any) -> None:
    caller = Caller(*a_token(team, MembershipFactory(team=team).user))
    caller.get("/me")
    with django_assert_max_num_queries(5):
        caller.get("/me")
