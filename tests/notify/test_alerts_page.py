"""The page of alerts: open and past, who saw to it, and who may."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from mcpdesk.accounts.access import Member, member_in
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Role, Team
from mcpdesk.audit.models import Event
from mcpdesk.notify import alerts
from mcpdesk.notify.models import Alert
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import NOW, MembershipFactory, TeamFactory
from tests.web.browsing import browser, htmx, signed_in

pytestmark = pytest.mark.django_db

WATCHERS = [Role.OPERATOR, Role.ADMIN]


@pytest.fixture
def team(db: None) -> Team:
    team: Team = TeamFactory()
    return team


def alert(team: Team, matter: str = "lost:1", sentence: str = "acme is lost.") -> Alert:
    with transaction.atomic():
        alerts.raise_alert(team.pk, matter, sentence, NOW, path="/operations/")
    return Alert.objects.get(team=team, matter=matter, closed_at__isnull=True)


def page(client: Client, path: str = "/alerts/") -> str:
    return " ".join(client.get(path).content.decode().split())


@pytest.mark.parametrize("role", WATCHERS)
def test_an_open_alert_leads_to_its_place_and_counts_in_the_rail(team: Team, role: Role) -> None:
    alert(team)
    client = browser(role, team)
    shown = page(client)
    assert '<a href="/operations/">acme is lost.</a>' in shown
    assert '<span class="visually-hidden">open alerts: </span>1' in shown
    assert "No alert has come to an end yet." in shown
    assert "acme is lost." in page(client, "/inbox/")


@pytest.mark.parametrize("role", WATCHERS)
def test_who_saw_to_it_stands_on_the_page(team: Team, role: Role) -> None:
    found = alert(team)
    membership: Membership = MembershipFactory(team=team, role=role, user__name="Anna")
    client = signed_in(membership)
    client.post(f"/alerts/{found.pk}/seen/")
    shown = page(client)
    assert "Anna saw to it" in shown and "Nothing needs you." in shown
    assert "open alerts" not in shown
    (event,) = Event.objects.filter(kind="alert.closed")
    assert (event.actor, event.data) == (membership.user, {"about": "lost"})


def test_what_ended_by_itself_says_so(team: Team) -> None:
    alert(team)
    with transaction.atomic():
        alerts.close_alert(team.pk, "lost:1", NOW + timedelta(hours=1))
    assert "its matter ended" in page(browser(Role.OPERATOR, team))


def test_seeing_to_it_twice_changes_nothing(team: Team) -> None:
    found = alert(team)
    first, second = browser(Role.OPERATOR, team), browser(Role.ADMIN, team)
    for client in (first, second):
        assert client.post(f"/alerts/{found.pk}/seen/").status_code == 302
    assert Event.objects.filter(kind="alert.closed").count() == 1


@pytest.mark.parametrize("role", [role for role in Role if role not in WATCHERS])
def test_others_neither_see_nor_close_alerts(team: Team, role: Role) -> None:
    found = alert(team)
    client = browser(role, team)
    assert client.get("/alerts/").status_code == 403
    assert client.get("/shell/alerts-badge/").status_code == 403
    assert client.post(f"/alerts/{found.pk}/seen/").status_code == 403
    shown = page(client, "/inbox/")
    assert "acme is lost." not in shown and "/alerts/" not in shown
    found.refresh_from_db()
    assert found.closed_at is None


def test_an_alert_of_another_team_does_not_exist(team: Team) -> None:
    foreign = alert(TeamFactory())
    client = browser(Role.ADMIN, team)
    assert "acme" not in page(client)
    assert client.post(f"/alerts/{foreign.pk}/seen/").status_code == 404


def member(team: Team, role: Role) -> Member:
    membership: Membership = MembershipFactory(team=team, role=role)
    found = member_in(membership.user, team.pk)
    assert found is not None
    return found


@pytest.mark.django_db(transaction=True)
def test_an_operator_who_is_none_any_more_changes_nothing(team: Team) -> None:
    found, operator = alert(team), member(team, Role.OPERATOR)
    Membership.objects.update(role=Role.VIEWER)
    with pytest.raises(Refused):
        alerts.see_to(found.pk, member=operator, now=NOW)
    found.refresh_from_db()
    assert found.closed_at is None


def closed_by_two(team: Team, lock: str) -> int:
    """How many events say that it closed, when two see to it at once."""
    found, people = alert(team), [member(team, role) for role in WATCHERS]
    with meeting_after(lock):
        side_by_side(
            *[
                lambda person=person: alerts.see_to(found.pk, member=person, now=NOW)  # type: ignore[misc]
                for person in people
            ]
        )
    return Event.objects.filter(kind="alert.closed").count()


@pytest.mark.django_db(transaction=True)
def test_of_two_who_see_to_it_at_once_one_did(team: Team) -> None:
    assert closed_by_two(team, "mcpdesk.notify.alerts._open") == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_both_would_have(team: Team) -> None:
    with locks_off():
        assert closed_by_two(team, "mcpdesk.notify.alerts._open") == 2


def test_the_page_costs_the_same_for_any_number_of_alerts(team: Team) -> None:
    client = browser(Role.OPERATOR, team)
    alert(team)
    costs = []
    for count in (1, 40):
        for number in range(count):
            Alert.objects.create(
                team=team, matter=f"x:{count}:{number}", sentence="x", opened_at=NOW, closed_at=NOW
            )
        with CaptureQueriesContext(connection) as asked:
            page(client)
        costs.append(len(asked))
    assert costs[0] == costs[1] <= 16


def test_a_live_update_brings_the_lists_alone(team: Team) -> None:
    alert(team)
    response = browser(Role.ADMIN, team).get("/alerts/", headers=htmx("alerts-live"))
    part = response.content.decode()
    assert "acme is lost." in part and "<html" not in part


def test_what_hides_in_a_name_is_written_out(team: Team) -> None:
    found = alert(team, sentence="acme, “de\u202eploy\nx”: lost.")
    assert found.sentence == "acme, “de<U+202E>ploy x”: lost."


@pytest.mark.parametrize("role", WATCHERS)
def test_a_place_for_admins_alone_is_no_link_for_operators(team: Team, role: Role) -> None:
    with transaction.atomic():
        alerts.raise_alert(team.pk, "not_told:c1", "Not told.", NOW, path="/team/channels/")
    shown = page(browser(role, team))
    assert "Not told." in shown
    assert ('<a href="/team/channels/">Not told.</a>' in shown) == (role is Role.ADMIN)
