"""What support looks at is in the team's own log before it is shown."""

from datetime import timedelta

import pytest
import time_machine
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone

from mcpdesk.accounts.models import Team
from mcpdesk.audit.models import Event
from mcpdesk.support import looks
from tasks_monitor.models import Server
from tests.factories import ServerFactory, TeamFactory
from tests.support.staff import let_in, make_staff, signed_in

pytestmark = pytest.mark.django_db

SERVERS = "/support/tasks_monitor/server/"


@pytest.fixture
def sue() -> Client:
    return signed_in(make_staff())


@pytest.fixture
def server() -> Server:
    found: Server = ServerFactory(team__name="Here")
    let_in(found.team)
    return found


def kinds(team: Team) -> list[tuple[str, str, str]]:
    events = Event.objects.filter(team=team, kind__startswith="support.").order_by("id")
    return [(one.kind, one.actor_name, one.data["what"]) for one in events]


def test_each_row_that_is_opened_is_an_event_of_its_team(sue: Client, server: Server) -> None:
    for _ in range(2):
        sue.get(f"{SERVERS}{server.pk}/change/")
    look = ("support.looked", "Sue Porter", "server")
    assert kinds(server.team) == [look, look]
    rows = Event.objects.filter(kind="support.looked").values_list("data__row", flat=True)
    assert set(rows) == {str(server.pk)}


def test_a_list_is_an_event_once_in_a_quarter_of_an_hour_for_each_kind_of_row(
    sue: Client, server: Server
) -> None:
    now = timezone.now()
    for later in (0, 5, 14, 16):
        with time_machine.travel(now + timedelta(minutes=later)):
            sue.get(SERVERS)
            sue.get("/support/accounts/membership/")
    listed = [words for kind, _, words in kinds(server.team) if kind == "support.listed"]
    assert sorted(listed) == ["memberships", "memberships", "servers", "servers"]


def test_another_person_and_another_team_have_events_of_their_own(
    sue: Client, server: Server
) -> None:
    other = TeamFactory(name="There")
    let_in(other)
    sue.get(SERVERS)
    sue.get(f"{SERVERS}?team={other.pk}")
    signed_in(make_staff()).get(SERVERS)
    assert len(kinds(server.team)) == 2
    assert len(kinds(other)) == 1


def test_nothing_is_noted_of_a_team_that_lets_nobody_look(sue: Client, server: Server) -> None:
    closed = ServerFactory()
    assert sue.get(f"{SERVERS}{closed.pk}/change/").status_code == 404
    sue.get(f"{SERVERS}?team={closed.team_id}")
    assert kinds(closed.team) == []


def test_what_cannot_be_noted_is_not_shown(
    sue: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(looks, "record", fails)
    sue.raise_request_exception = False
    for address in (SERVERS, f"{SERVERS}{server.pk}/change/"):
        page = sue.get(address)
        assert page.status_code == 500
        assert server.name not in page.content.decode()
