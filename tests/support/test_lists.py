"""Lists and rows of support: one team at a time, nothing to be guessed, one cost at any size."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.admin import ModelAdmin
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mcpdesk.accounts.models import ApiToken, Membership, SupportGrant, Team
from mcpdesk.notify.models import Channel
from mcpdesk.support import reading
from mcpdesk.support.reading import Part, ReadOnlyAdmin, along
from mcpdesk.support.site import SupportSite
from tasks_monitor.models import Attempt, HistoryEntry, Operation, Server
from tasks_monitor.states import State
from tests.factories import (
    DeliveryFactory,
    InputRequestFactory,
    MembershipFactory,
    OperationFactory,
    ServerFactory,
    TeamFactory,
)
from tests.support.staff import let_in, make_staff, signed_in

pytestmark = pytest.mark.django_db

OPERATIONS = "/support/tasks_monitor/operation/"


@pytest.fixture
def sue() -> Client:
    return signed_in(make_staff())


@pytest.fixture
def team() -> Team:
    found: Team = TeamFactory(name="Aardvark")
    let_in(found)
    return found


def shown(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, response.status_code
    return str(response.content.decode())


def test_one_team_is_listed_at_a_time_and_chosen_among_those_that_let_support_look(
    sue: Client, team: Team
) -> None:
    other, closed = TeamFactory(name="Zebra"), TeamFactory(name="Closed")
    let_in(other)
    servers = [ServerFactory(team=one, name=f"server-of-{one.slug}") for one in (team, other)]
    ServerFactory(team=closed, name="server-of-nobody")
    place = "/support/tasks_monitor/server/"
    for address, seen in ((place, 0), (f"{place}?team={other.pk}", 1)):
        body = shown(sue, address)
        assert servers[seen].name in body
        assert servers[1 - seen].name not in body
        assert "Zebra" in body and "Closed" not in body
    assert "server-of" not in shown(sue, f"{place}?team={closed.pk}")
    assert "server-of" not in shown(sue, f"{place}?team=nonsense")


def test_rows_are_gone_the_moment_the_grant_ends(sue: Client) -> None:
    now = timezone.now()
    server = ServerFactory(name="gone-soon")
    let_in(server.team, ends_at=now + timedelta(minutes=5))
    address = f"/support/tasks_monitor/server/{server.pk}/change/"
    assert sue.get(address).status_code == 200
    with time_machine.travel(now + timedelta(minutes=5, seconds=1)):
        assert sue.get(address).status_code == 404
        assert "gone-soon" not in shown(sue, "/support/tasks_monitor/server/")
        assert server.team.name not in shown(sue, "/support/")


def test_without_any_grant_every_list_is_empty_and_no_look_is_noted(sue: Client) -> None:
    MembershipFactory()
    assert "0 memberships" in shown(sue, "/support/accounts/membership/")


@pytest.mark.parametrize(
    "lookup",
    [
        "reason__startswith=d",
        "explanation__contains=x",
        "started_by__email__startswith=a",
        "team__api_tokens__digest__startswith=0",
        "task_hash__gte=8",
        "team_id__in=1",
        "server__credential__isnull=0",
        "history__state__startswith=c",
        "payload__arguments__isnull=0",
    ],
)
def test_what_is_not_shown_cannot_be_found_out_by_asking(
    sue: Client, team: Team, lookup: str
) -> None:
    assert sue.get(f"{OPERATIONS}?{lookup}").status_code == 400


@pytest.mark.parametrize("odd", ["o=-1", "_facets=True", "all=", "p=999", "_popup=1", "e=1"])
def test_the_admins_own_parameters_show_no_more(sue: Client, team: Team, odd: str) -> None:
    OperationFactory(server__team=TeamFactory(), server__name="elsewhere")
    response = sue.get(f"{OPERATIONS}?{odd}", follow=True)
    assert response.status_code in (200, 400)
    assert "elsewhere" not in response.content.decode()


def test_a_row_is_found_by_its_whole_id_and_by_nothing_else(sue: Client, team: Team) -> None:
    server = ServerFactory(team=team)
    wanted, other = OperationFactory.create_batch(2, server=server, reason="Release")
    body = shown(sue, f"{OPERATIONS}?q={wanted.pk}")
    assert str(wanted.pk) in body and str(other.pk) not in body
    for words in ("Release", str(wanted.pk)[:8], "%00x", "' OR 1=1"):
        response = sue.get(OPERATIONS, {"q": words})
        assert f"{wanted.pk}/change" not in response.content.decode()


def test_operations_are_narrowed_by_state(sue: Client, team: Team) -> None:
    server = ServerFactory(team=team)
    lost = OperationFactory(server=server, state=State.LOST)
    working = OperationFactory(server=server, state=State.WORKING)
    body = shown(sue, f"{OPERATIONS}?history__state__exact=lost")
    assert str(lost.pk) in body and str(working.pk) not in body


def test_a_list_counts_and_pages_no_further_than_it_goes(
    sue: Client, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST", 3)
    OperationFactory.create_batch(5, server=ServerFactory(team=team))
    body = shown(sue, OPERATIONS)
    assert "3 operations" in body
    assert "These are the first 3" in body


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        shown(client, address)
    return len(asked)


def test_a_longer_list_and_a_longer_row_cost_no_more_queries(sue: Client, team: Team) -> None:
    """The event of a list is there already; that of a row is always written."""
    server = ServerFactory(team=team)
    operation = OperationFactory(server=server)
    places = [
        OPERATIONS,
        f"{OPERATIONS}{operation.pk}/change/",
        "/support/accounts/membership/",
        "/support/tasks_monitor/server/",
    ]
    for place in places:
        shown(sue, place)
    before = [queries(sue, place) for place in places]
    for number in range(1, 6):
        OperationFactory(server=server)
        ServerFactory(team=team)
        MembershipFactory(team=team)
        Attempt.objects.create(
            operation=operation,
            number=number,
            request_id=number,
            round=0,
            sent_at=timezone.now(),
            outcome="answered",
        )
    assert [queries(sue, place) for place in places] == before
    assert max(before) <= 16


def test_the_server_writes_no_markup_into_a_list(sue: Client, team: Team) -> None:
    server = ServerFactory(team=team)
    operation = OperationFactory(server=server, tool_name="<b>bold\u202e</b>")
    for address in (OPERATIONS, f"{OPERATIONS}{operation.pk}/change/"):
        body = shown(sue, address)
        assert "&lt;b&gt;bold" in body
        assert "<b>bold" not in body and "\u202e" not in body


def rows_showing(**columns: Any) -> type[ReadOnlyAdmin]:
    return type("Rows", (ReadOnlyAdmin,), {"listed": ("id",), "shown": ("id",), **columns})


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        (Server, {"shown": ("id", "credential")}),
        (Server, {"listed": ("id", "url")}),
        (Operation, {"shown": ("reason",)}),
        (Operation, {"related": ("payload__arguments",), "x": along("payload__arguments", "x")}),
        (Operation, {"related": ("started_by__email",)}),
        (Operation, {"shown": ("task_hash",)}),
        (ApiToken, {"shown": ("digest",)}),
        (ApiToken, {"shown": ("prefix",)}),
        (Channel, {"shown": ("secret",)}),
        (Membership, {"shown": ("there_is_no_such",)}),
        (Operation, {"inlines": (type("P", (Part,), {"model": Attempt, "shown": ("task_id",)}),)}),
    ],
)
def test_what_shows_more_than_it_may_is_refused_when_it_is_registered(
    model: type[Any], columns: dict[str, Any]
) -> None:
    with pytest.raises(ImproperlyConfigured):
        SupportSite().register(model, rows_showing(**columns))


def test_what_can_write_is_refused_when_it_is_registered() -> None:
    for rows in (None, ModelAdmin):
        with pytest.raises(ImproperlyConfigured):
            SupportSite().register(SupportGrant, rows)


def test_times_are_in_the_readers_zone_which_is_named(team: Team) -> None:
    user = make_staff(time_zone="Asia/Tokyo")
    created_at = datetime(2026, 11, 29, 23, 30, tzinfo=UTC)
    operation = OperationFactory(server=ServerFactory(team=team), created_at=created_at)
    HistoryEntry.objects.filter(pk=operation.pk).update(state_since=created_at)
    body = shown(signed_in(user), f"{OPERATIONS}{operation.pk}/change/")
    assert body.count("30 Nov 2026, 08:30:00 JST") == 2


def test_the_calls_and_questions_of_an_operation_stand_on_its_page(sue: Client, team: Team) -> None:
    question = InputRequestFactory(operation__server__team=team)
    DeliveryFactory(input_request=question, state="acknowledged")
    body = shown(sue, f"{OPERATIONS}{question.operation_id}/change/")
    assert f"<td>{question.pk}" in body.replace("<p>", "").replace("</p>", "")
    assert "acknowledged" in body
