"""/metrics: who may ask, that any parser reads it, and that each number is the right one."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain

from mcpdesk.checks import configuration
from mcpdesk.notify.models import Alert
from tasks_monitor.engine import tally
from tasks_monitor.engine.heartbeat import beat
from tasks_monitor.models import DeliveryState, HistoryEntry, Server
from tasks_monitor.states import State
from tests.conftest import CHECKOUT
from tests.factories import (
    NOW,
    ApprovalFactory,
    DeliveryFactory,
    OperationFactory,
    ServerFactory,
    TeamFactory,
)

pytestmark = pytest.mark.django_db

TOKEN = "a-token-of-more-than-32-characters-for-scrapers"

Labels = dict[str, str]


def scrape(**headers: str) -> Any:
    return Client(headers=headers or None).get("/metrics")


def samples() -> dict[str, list[tuple[Labels, float]]]:
    """Every sample by its name, as the official parser reads it."""
    with time_machine.travel(NOW, tick=False):
        text = scrape().content.decode()
    found: dict[str, list[tuple[Labels, float]]] = {}
    for family in plain(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def value(name: str, **labels: str) -> float:
    (found,) = [number for given, number in samples()[name] if labels.items() <= given.items()]
    return found


def ended(server: Server, minutes_ago: float, server_ms: int = 2_000, **values: Any) -> None:
    operation = OperationFactory(server=server, state=State.COMPLETED)
    at = NOW - timedelta(minutes=minutes_ago)
    HistoryEntry.objects.filter(pk=operation.pk).update(
        state=values.pop("state", State.COMPLETED),
        finished_at=at,
        took_ms=1,
        server_ms=server_ms,
        **values,
    )


# --- who may ask


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        (f"Basic {TOKEN}", 401),
        (TOKEN, 401),
        ("Bearer ", 401),
        ("Bearer \u00e9", 401),
        ("", 401),
    ],
)
def test_with_a_token_only_who_shows_it_is_answered(settings: Any, given: str, status: int) -> None:
    settings.METRICS_TOKEN = TOKEN
    response = scrape(Authorization=given)
    assert response.status_code == status
    assert (response.content == b"") == (status == 401)


def test_with_a_token_this_machine_has_to_show_it_too(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN
    assert scrape().status_code == 401


@pytest.mark.parametrize(
    ("address", "status"),
    [("127.0.0.1", 200), ("::1", 200), ("10.0.0.7", 401), ("192.0.2.1", 401), ("", 401)],
)
def test_without_a_token_only_this_machine_is_answered(address: str, status: int) -> None:
    assert Client(REMOTE_ADDR=address).get("/metrics").status_code == status


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])
def test_without_a_token_nothing_comes_through_a_proxy(header: str) -> None:
    """The proxy is on this machine; who asked it is not."""
    assert scrape(**{header: "for=127.0.0.1"}).status_code == 401


def test_behind_a_proxy_there_are_no_metrics_without_a_token(settings: Any) -> None:
    settings.BEHIND_PROXY = True
    assert scrape().status_code == 401


@pytest.mark.parametrize(("token", "errors"), [("", 0), (TOKEN, 0), ("short", 1)])
def test_a_token_that_can_be_guessed_is_refused_at_start(
    settings: Any, token: str, errors: int
) -> None:
    settings.METRICS_TOKEN = token
    assert [found.id for found in configuration()].count("mcpdesk.E014") == errors


# --- the format


def furnished() -> Server:
    """Something of everything that is measured."""
    server: Server = ServerFactory(team=TeamFactory(slug="alpha"), name="acme")
    ended(server, 3)
    ended(server, 60, is_error=True)
    approval = ApprovalFactory(input_request__operation__server=server)
    DeliveryFactory(input_request=approval.input_request)
    Alert.objects.create(team=server.team, matter="lost:1", sentence="x", opened_at=NOW)
    beat("clock", NOW)
    return server


@pytest.mark.parametrize(
    ("accept", "parse"),
    [("text/plain", plain), ("application/openmetrics-text; version=1.0.0", open_metrics)],
)
def test_the_official_parsers_read_it(accept: str, parse: Any) -> None:
    furnished()
    response = scrape(Accept=accept)
    assert accept.partition(";")[0] in response.headers["Content-Type"]
    names = {family.name for family in parse(response.content.decode())}
    assert {"mcpdesk_operations", "mcpdesk_server_reachable"} <= names
    assert "process_cpu_seconds" in {name.removesuffix("_total") for name in names}


def test_names_and_units_follow_the_conventions() -> None:
    furnished()
    for family in plain(scrape().content.decode()):
        assert family.documentation, family.name
        if family.name.startswith("mcpdesk_"):
            assert not family.name.endswith(("_ms", "_minutes", "_count"))
            assert family.type in {"gauge", "counter", "histogram"}


# --- the numbers


def test_the_backlog_is_counted_by_state() -> None:
    server = furnished()
    for state in (State.WORKING, State.WORKING, State.LOST):
        OperationFactory(server=server, state=state)
    assert value("mcpdesk_operations", team="alpha", state="working") == 2
    assert value("mcpdesk_operations", team="alpha", state="lost") == 1
    assert {labels["state"] for labels, _ in samples()["mcpdesk_operations"]} == {
        "working",
        "lost",
        "input_required",
    }


def test_lateness_is_that_of_the_longest_due() -> None:
    server = ServerFactory()
    for seconds in (10, 95, -30):
        at = NOW - timedelta(seconds=seconds)
        OperationFactory(server=server, state=State.WORKING, due_at=at)
    paused = ServerFactory(paused=True)
    OperationFactory(server=paused, state=State.WORKING, due_at=NOW - timedelta(days=1))
    assert value("mcpdesk_operations_due") == 2
    assert value("mcpdesk_operations_lateness_seconds") == 95


def test_outcomes_and_durations_count_what_is_tallied_and_what_is_new() -> None:
    server = ServerFactory(name="acme")
    for minutes, took in ((120, 2_000), (60, 20_000)):
        ended(server, minutes, took)
    tally.count(NOW)
    ended(server, 1, 400)
    ended(server, 1, state=State.FAILED)
    outcome = "mcpdesk_operations_ended_total"
    assert value(outcome, server="acme", state="completed", is_error="false") == 3
    assert value(outcome, server="acme", state="failed") == 1
    bucket = "mcpdesk_operation_server_seconds_bucket"
    assert [value(bucket, server="acme", le=le) for le in ("1.0", "5.0", "60.0", "+Inf")] == [
        1,
        3,
        4,
        4,
    ]
    assert value("mcpdesk_operation_server_seconds_sum", server="acme") == 24.4
    assert value("mcpdesk_operation_server_seconds_count", server="acme") == 4


def test_counting_changes_no_number() -> None:
    server = ServerFactory()
    for minutes in (1, 30, 3000):
        ended(server, minutes)
    before = samples()["mcpdesk_operations_ended_total"]
    tally.count(NOW)
    assert samples()["mcpdesk_operations_ended_total"] == before


def test_what_waits_for_people_is_counted_by_age() -> None:
    for minutes in (1, 30, 31, 60 * 30):
        ApprovalFactory(created_at=NOW - timedelta(minutes=minutes))
    found = samples()["mcpdesk_approvals_waiting"]
    counts: dict[str, float] = {}
    for labels, number in found:
        counts[labels["age"]] = counts.get(labels["age"], 0) + number
    assert counts == {"under_5m": 1, "5m_to_1h": 2, "1h_to_1d": 0, "over_1d": 1}
    oldest = max(number for _, number in samples()["mcpdesk_approvals_oldest_seconds"])
    assert oldest == 30 * 3600


def test_servers_say_how_they_are() -> None:
    ServerFactory(name="well")
    ServerFactory(
        name="away",
        unreachable_since=NOW - timedelta(hours=1),
        not_before=NOW + timedelta(seconds=40),
        paused=True,
    )
    assert value("mcpdesk_server_reachable", server="well") == 1
    assert value("mcpdesk_server_reachable", server="away") == 0
    assert value("mcpdesk_server_paused", server="away") == 1
    assert value("mcpdesk_server_backoff_seconds", server="away") == 40
    assert value("mcpdesk_server_backoff_seconds", server="well") == 0


def test_answers_on_their_way_are_counted_for_each_server() -> None:
    quick, slow = ServerFactory(name="quick"), ServerFactory(name="slow")
    for server in (quick, slow, slow):
        DeliveryFactory(input_request__operation=OperationFactory(server=server))
    assert value("mcpdesk_deliveries", server="quick", state="saved") == 1
    assert value("mcpdesk_deliveries", server="slow", state="saved") == 2


def test_an_answer_of_what_is_over_is_on_no_way_any_more() -> None:
    """What expired, or was recorded as done, has its answer as it last was, and keeps it."""
    over = OperationFactory(server__name="well", state=State.EXPIRED, finished_at=NOW)
    DeliveryFactory(input_request__operation=over, state=DeliveryState.ACKNOWLEDGED)
    assert value("mcpdesk_deliveries", server="well", state="acknowledged") == 0


def test_where_nothing_is_on_its_way_that_is_said_for_each_state() -> None:
    ServerFactory(name="quiet")
    for state in ("saved", "sent", "acknowledged", "ignored"):
        assert value("mcpdesk_deliveries", server="quiet", state=state) == 0


def test_messages_alerts_and_processes_are_there() -> None:
    furnished()
    assert value("mcpdesk_messages", state="dead") == 0
    assert value("mcpdesk_alerts", team="alpha", matter="lost") == 1
    assert value("mcpdesk_last_seen_timestamp_seconds", process="clock") == NOW.timestamp()
    assert len(samples()["mcpdesk_last_seen_timestamp_seconds"]) == 1


def test_nothing_that_a_server_or_a_person_wrote_is_in_it() -> None:
    server = furnished()
    OperationFactory(server=server, tool_name="secret-tool", reason="secret-reason")
    assert "secret" not in scrape().content.decode()


def test_a_scrape_costs_the_same_for_any_number_of_operations() -> None:
    server, costs = ServerFactory(), []
    for count in (1, 30):
        for number in range(count):
            ended(server, number)
            OperationFactory(server=server, state=State.WORKING, due_at=NOW)
            ApprovalFactory(input_request__operation__server=server)
        with CaptureQueriesContext(connection) as asked:
            scrape()
        costs.append(len(asked))
    assert costs[0] == costs[1] <= 20


#: Tables that grow with every operation; servers, teams and tallies do not.
_GROW = "tasks_monitor_(operation|historyentry|delivery)|approvals_approval|notify_(message|alert)"


def test_no_query_of_a_scrape_reads_a_big_table_from_its_beginning() -> None:
    furnished()
    with CaptureQueriesContext(connection) as asked:
        scrape()
    with connection.cursor() as cursor:
        # what is chosen all the same, chooses nothing else: there is no index for it
        cursor.execute("SET LOCAL enable_seqscan = off")
        for query in asked:
            cursor.execute(f"EXPLAIN {query['sql']}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert not re.search(rf"Seq Scan on ({_GROW})\b", plan), query["sql"]


def test_every_metric_stands_in_the_documentation() -> None:
    furnished()
    text = (CHECKOUT / "docs/observability.md").read_text("utf-8")
    documented = set(re.findall(r"`(mcpdesk_\w+)`", text))
    shown = {family.name for family in open_metrics_of() if family.name.startswith("mcpdesk_")}
    assert {name.removesuffix("_total") for name in documented} == shown


def open_metrics_of() -> list[Any]:
    response = scrape(Accept="application/openmetrics-text; version=1.0.0")
    return list(open_metrics(response.content.decode()))
