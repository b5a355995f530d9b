"""The dashboard's page: the team as it is now, and its charts, for everybody of the team."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils.html import strip_tags

from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import HistoryEntry, Hold, Server
from tasks_monitor.spans import Range
from tasks_monitor.states import TERMINAL, State
from tests.factories import (
    NOW,
    ApprovalFactory,
    MembershipFactory,
    OperationFactory,
    ServerFactory,
)
from tests.web.browsing import browser, htmx, signed_in

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
AT = NOW + 15 * MINUTE


@pytest.fixture(autouse=True)
def _at_a_quarter_past() -> Any:
    with time_machine.travel(AT, tick=False):
        yield


@pytest.fixture
def viewer() -> Membership:
    return MembershipFactory(role=Role.VIEWER)


@pytest.fixture
def client(viewer: Membership) -> Client:
    return signed_in(viewer)


@pytest.fixture
def server(viewer: Membership) -> Server:
    return ServerFactory(team=viewer.team, name="build-server")


def page(client: Client, query: str = "", **extra: Any) -> str:
    response = client.get(f"/{query}", **extra)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def words(client: Client, query: str = "", **extra: Any) -> str:
    return " ".join(strip_tags(page(client, query, **extra)).split())


def test_every_open_state_is_counted_and_leads_to_its_list(client: Client, server: Server) -> None:
    OperationFactory.create_batch(3, server=server, state=State.WORKING)
    OperationFactory(server=server, state=State.COMPLETED, finished_at=NOW)
    OperationFactory(state=State.WORKING)
    shown = page(client)
    tiles = re.findall(r'href="/operations/\?tab=all&amp;state=(\w+)"><span[^>]*>(\d+)<', shown)
    assert dict(tiles) == {
        **{state.value: "0" for state in State if state not in TERMINAL},
        "working": "3",
    }
    listed = client.get("/operations/?tab=all&state=working").content.decode()
    assert listed.count('class="row-item"') == 3


def test_what_waits_longest_comes_first_with_whom_it_waits_for(
    client: Client, server: Server
) -> None:
    for minutes, audience in ((3, "approvers"), (9, "people"), (5, "requester")):
        item = ApprovalFactory(
            input_request__operation__server=server,
            input_request__operation__started_by__name="Nina",
            audience=audience,
            created_at=AT - minutes * MINUTE,
        )
        if audience == "people":
            item.people.add(MembershipFactory(user__name="Pia").user)
    lost = OperationFactory(server=server, state=State.LOST)
    HistoryEntry.objects.filter(pk=lost.pk).update(state_since=AT - 7 * MINUTE)
    found = re.findall(r"(\d+) min [^ ]+ waits for (.*?) · started", words(client))
    assert found == [
        ("9", "Pia"),
        ("7", "an operator"),
        ("5", "Nina"),
        ("3", "the team&#x27;s approvers"),
    ]
    assert f'href="/operations/{lost.pk}/"' in page(client)


def test_what_waits_leads_to_its_item(client: Client, server: Server) -> None:
    item = ApprovalFactory(input_request__operation__server=server)
    assert f'href="/inbox/{item.pk}/"' in page(client)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"last_ok_at": AT - MINUTE}, "Reachable, last answer 1 min ago"),
        ({"unreachable_since": NOW}, "Unreachable since 14:00:00 UTC"),
        (
            {"not_before": AT + MINUTE, "not_before_reason": "throttled"},
            "Slow down asked until 14:16:00 UTC",
        ),
        (
            {"not_before": AT + MINUTE, "not_before_reason": "authorization"},
            "Refused our credential; next try in 1 min",
        ),
        ({"paused": True}, "Paused: nothing is sent"),
    ],
)
def test_a_servers_health_stands_in_words(
    client: Client, server: Server, columns: dict[str, Any], says: str
) -> None:
    Server.objects.filter(pk=server.pk).update(**columns)
    assert says in words(client)


def test_a_server_says_how_many_tasks_it_has_and_when_the_next_is_checked(
    client: Client, server: Server
) -> None:
    for seconds in (9, 4):
        due = AT + timedelta(seconds=seconds)
        OperationFactory(server=server, state=State.WORKING, task_id=str(seconds), due_at=due)
    OperationFactory(server=server, state=State.READY, due_at=AT)
    assert "2 tasks, next check in 4 s" in words(client)


def test_servers_in_trouble_come_first(client: Client, viewer: Membership) -> None:
    names = ["alpha", "held", "ill", "zeta"]
    servers = {name: ServerFactory(team=viewer.team, name=name) for name in names}
    Server.objects.filter(name="ill").update(unreachable_since=NOW)
    Hold.objects.create(
        team=viewer.team, server=servers["held"], reason="odd", since=NOW, begun_by=viewer.user
    )
    shown = page(client)
    section = shown[shown.index('id="servers-title"') :]
    assert re.findall(r"server-badge [^>]*>(\w+)<", section)[:4] == ["held", "ill", "alpha", "zeta"]


def test_a_server_on_hold_says_so(client: Client, server: Server, viewer: Membership) -> None:
    Hold.objects.create(team=viewer.team, reason="odd", since=NOW, begun_by=viewer.user)
    assert "On hold since 14:00:00 UTC" in words(client, headers=htmx("dashboard-now"))


@pytest.mark.parametrize(
    ("role", "says"),
    [
        (Role.VIEWER, "An admin of the team adds servers first"),
        (Role.ADMIN, "Add the first server"),
    ],
)
def test_an_empty_team_is_told_how_to_begin(viewer: Membership, role: Role, says: str) -> None:
    shown = words(browser(role, viewer.team))
    assert says in shown
    assert "Nothing ended in this time" in shown
    assert "Nothing to measure in this time" in shown


def test_charts_say_what_they_show_in_words_and_as_a_table(client: Client, server: Server) -> None:
    done = OperationFactory(server=server, state=State.COMPLETED, finished_at=NOW)
    HistoryEntry.objects.filter(pk=done.pk).update(server_ms=80_000)
    shown = page(client)
    assert '<desc id="chart-outcomes-words">1 completed. The table below' in shown
    assert "Sun 29 Nov, 14:00 to 15:00: half within 1 min 20 s, nine of ten within" in shown
    assert '<th scope="row">Sun 29 Nov, 14:00 to 15:00</th><td class="number">1</td>' in shown


def test_the_range_the_server_and_the_tool_stand_in_the_address(
    client: Client, server: Server, viewer: Membership
) -> None:
    other = ServerFactory(team=viewer.team)
    for one, tool in ((server, "deploy"), (server, "other"), (other, "deploy")):
        at = NOW - timedelta(days=20)
        OperationFactory(server=one, tool_name=tool, state=State.COMPLETED, finished_at=at)
    assert "No operation ended since" in words(client)
    assert "3 operations ended" in words(client, "?range=30d")
    assert "1 operation ended" in words(client, f"?range=30d&server={server.pk}&tool=deploy")
    region = page(client, "?range=30d&tool=deploy", headers=htmx("dashboard-charts"))
    assert region.startswith('<div id="dashboard-charts"')
    assert 'hx-get="/?range=30d&amp;tool=deploy"' in region


@pytest.mark.parametrize("query", ["?server=x", "?server=²", "?server=" + "9" * 40, "?range=1y"])
def test_an_address_that_means_nothing_shows_the_whole_team(
    client: Client, server: Server, query: str
) -> None:
    OperationFactory(server=server, state=State.COMPLETED, finished_at=NOW)
    assert "1 operation ended" in words(client, query)


def test_times_are_those_of_the_readers_zone(client: Client, viewer: Membership) -> None:
    viewer.user.time_zone = "Asia/Kolkata"
    viewer.user.save()
    OperationFactory(server=ServerFactory(team=viewer.team), state=State.COMPLETED, finished_at=NOW)
    assert "Sun 29 Nov, 19:00 to 20:00" in page(client)


def test_another_teams_server_narrows_to_nothing(client: Client) -> None:
    foreign = OperationFactory(state=State.COMPLETED, finished_at=NOW)
    assert "No operation ended since" in words(client, f"?server={foreign.server_id}")


@pytest.mark.parametrize("region", ["dashboard-now", "dashboard-charts"])
def test_a_region_is_answered_alone(client: Client, region: str) -> None:
    shown = page(client, headers=htmx(region))
    assert shown.startswith(f'<div id="{region}"')
    assert "<html" not in shown


@pytest.mark.parametrize("asked", list(Range))
def test_the_page_costs_the_same_for_any_number_of_rows(
    client: Client, viewer: Membership, django_assert_num_queries: Any, asked: Range
) -> None:
    for _ in range(12):
        server = ServerFactory(team=viewer.team)
        item = ApprovalFactory(input_request__operation__server=server)
        item.people.add(MembershipFactory().user)
        OperationFactory(server=server, state=State.UNKNOWN)
        OperationFactory(server=server, state=State.COMPLETED, finished_at=NOW)
    with django_assert_num_queries(19 + (asked in (Range.MONTH, Range.QUARTER))):
        client.get(f"/?range={asked}")


def test_the_dashboard_is_one_place_of_the_rail(client: Client) -> None:
    here = r'<a href="/" class="on" aria-current="page"><span>Dashboard'
    assert re.search(here, page(client))
    assert not re.search(here, client.get("/servers/").content.decode())


def test_nothing_is_drawn_by_a_style(client: Client, server: Server) -> None:
    OperationFactory(server=server, state=State.COMPLETED, finished_at=NOW)
    assert not re.search(r"<style|\sstyle=|<script(?![^>]*\bsrc=)|\son\w+=", page(client))


def test_signing_in_still_leads_to_the_inbox(viewer: Membership) -> None:
    sent = {"login": viewer.user.email, "password": "correct horse battery"}
    assert Client().post("/accounts/login/", sent)["Location"] == "/inbox/"
