"""What would narrow nothing is refused with its name: nobody gets more than they meant."""

from typing import Any

import pytest

from mcpdesk.accounts.models import Role, Team
from mcpdesk.api.urls import api
from mcpdesk.audit.models import Export
from tasks_monitor.history_filters import Outcome
from tests.api.calling import Caller, person
from tests.factories import OperationFactory, ServerFactory, TeamFactory

pytestmark = pytest.mark.django_db

LISTS = ["/operations", "/approvals", "/approvals/history", "/servers", "/events", "/me"]


@pytest.fixture
def team() -> Team:
    return TeamFactory()


@pytest.fixture
def caller(team: Team) -> Caller:
    return person(team, Role.ADMIN)


def _fields(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    return [error["field"] for error in answer.json()["errors"]]


@pytest.mark.parametrize("path", LISTS)
def test_a_parameter_that_a_route_does_not_know_is_refused(caller: Caller, path: str) -> None:
    assert caller.get(path).status_code == 200
    assert _fields(caller.get(path, stat="failed")) == ["stat"]


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("/operations", "tool", ""),
        ("/operations", "tool", " "),
        ("/operations", "state", "done"),
        ("/operations", "outcome", "failed"),
        ("/operations", "since", "yesterday"),
        ("/operations", "longer", "5 minutes"),
        ("/operations", "started_by", "me"),
        ("/operations", "server", "nowhere"),
        ("/operations", "state", ["failed", "lost"]),
        ("/operations", "after", "2"),
        ("/approvals/history", "decision", "maybe"),
        ("/approvals/history", "after", "nonsense"),
        ("/approvals", "tab", "all"),
        ("/approvals", "after", "nonsense"),
        ("/events", "limit", "0"),
        ("/events", "after", "last"),
    ],
)
def test_a_value_that_means_nothing_is_refused(
    caller: Caller, path: str, name: str, value: Any
) -> None:
    assert _fields(caller.get(path, **{name: value})) == [name]


def test_a_cursor_of_a_list_in_another_order_is_refused(caller: Caller, team: Team) -> None:
    server = ServerFactory(team=team)
    OperationFactory.create_batch(51, server=server)
    after = caller.get("/operations").json()["after"]
    assert len(caller.get("/operations", after=after).json()["items"]) == 1
    assert _fields(caller.get("/operations", after=after, sort="longest")) == ["after"]


def test_the_document_names_the_outcomes_that_a_list_is_narrowed_by() -> None:
    listing = api.get_openapi_schema()["paths"]["/api/v1/operations"]["get"]
    [outcome] = [one for one in listing["parameters"] if one["name"] == "outcome"]
    assert outcome["schema"]["anyOf"][0]["enum"] == list(Outcome)


@pytest.mark.parametrize("subject", ["operations", "approvals", "events"])
def test_an_export_refuses_filters_that_would_not_narrow_it(caller: Caller, subject: str) -> None:
    filters = {"sinse": "2026-11-01", "until": "tomorrow", "since": ""}
    answer = caller.post("/exports", {"subject": subject, "filters": filters})
    assert set(_fields(answer)) == {"filters.sinse", "filters.until", "filters.since"}
    assert "tomorrow" not in answer.content.decode()
    assert not Export.objects.exists()


def test_an_export_is_narrowed_to_a_server_by_its_name(caller: Caller, team: Team) -> None:
    server = ServerFactory(team=team, name="builds")
    OperationFactory(server=server)
    OperationFactory(server=ServerFactory(team=team))
    begun = caller.post("/exports", {"subject": "operations", "filters": {"server": "builds"}})
    lines = b"".join(caller.get(f"/exports/{begun.json()['id']}/file")).splitlines()
    assert len(lines) == 1
    nowhere = {"subject": "operations", "filters": {"server": "nowhere"}}
    assert _fields(caller.post("/exports", nowhere)) == ["filters.server"]
