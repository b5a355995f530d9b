"""Another team's ids in every address: taken from the URL conf, so a new route is covered too."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from playwright.sync_api import APIResponse

from approvals.models import PolicyRule
from mcpdesk.accounts.models import Membership
from mcpdesk.audit.models import Event
from tasks_monitor.models import Operation, Server
from tests.browser.people import Crew, Person, crew, open_items
from tests.browser.whole_desk import WholeDesk

pytestmark = pytest.mark.browser

#: Sign-in and the like: no address there holds an id of a team's.
NOT_OURS = "accounts/"
# what stands there for a foreign id; a method that the address does not take says nothing of it
UNKNOWN = {404, 405}


def _routes(patterns: list[Any], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and "<" in route:
            yield route


ROUTES = [route for route in _routes(get_resolver().url_patterns) if not route.startswith(NOT_OURS)]


@pytest.fixture
def ids(team: Crew, server: int) -> dict[str, str]:
    """One thing of the team for each kind of address, by the address's first part."""
    operation = team.start(server, "task_asks", '{"poll_ms": 500}')
    member = Membership.objects.get(team=team.team, user=team.approver.user)
    return {
        "inbox": str(open_items(operation)[0].pk),
        "operations": operation,
        "servers": str(server),
        "team": str(member.pk),
        "policies": str(PolicyRule.objects.get(team=team.team).pk),
    }


@pytest.fixture
def foreigner(desk: WholeDesk, employ_at: Any) -> Person:
    """Somebody of another team with every right there is."""
    return crew("Warehouse", employ_at(desk)).admin


def _address(route: str, ids: dict[str, str]) -> str:
    before, _, rest = route.partition("<")
    kind = before.split("/")[0]
    assert kind in ids, f"say in this test whose id /{route} takes"
    return f"/{before}{ids[kind]}{rest.partition('>')[2]}"


def _changed(team: Crew) -> int:
    return Event.objects.filter(team_id=team.team.pk).exclude(actor=None).count()


def test_the_routes_are_found() -> None:
    assert "inbox/<uuid:approval_id>/decide/" in ROUTES
    assert "team/<int:pk>/role/" in ROUTES


def test_another_teams_id_is_unknown_at_every_address(
    team: Crew, ids: dict[str, str], foreigner: Person
) -> None:
    before, told = _changed(team), []
    for address in (_address(route, ids) for route in ROUTES):
        answers = {"GET": foreigner.get(address), "POST": foreigner.post(address, role="viewer")}
        told += [
            (method, address, answer.status)
            for method, answer in answers.items()
            if answer.status not in UNKNOWN
        ]
        assert {answer.status for answer in answers.values()} != {405}, address
    assert told == []
    assert _changed(team) == before


def test_the_team_itself_finds_every_one_of_these_addresses(
    team: Crew, ids: dict[str, str]
) -> None:
    """Else the test above would prove nothing."""
    lost = [address for route in ROUTES if _lost(team.admin, address := _address(route, ids))]
    # there is no result yet
    assert lost == [f"/operations/{ids['operations']}/result.json"]


def _lost(person: Person, address: str) -> bool:
    return person.get(address).status == 404


def _form(person: Person, path: str, **fields: str) -> APIResponse:
    return person.post(path, **fields)


def test_another_teams_server_can_be_neither_called_nor_given_a_task(
    team: Crew, server: int, foreigner: Person
) -> None:
    for path in (
        f"/operations/new/?server={server}",
        f"/operations/new/?server={server}&tool=echo",
    ):
        assert foreigner.get(path).status == 404
        assert _form(foreigner, path, arguments="{}").status == 404
    fields = {"tool_name": "echo", "task_id": "t", "questions_to": "approvers"}
    adopted = _form(foreigner, "/operations/adopt/", server=str(server), **fields)
    assert adopted.status == 422
    assert Operation.objects.filter(server_id=server).count() == 0


def test_another_team_cannot_be_switched_to(team: Crew, server: int, foreigner: Person) -> None:
    _form(foreigner, "/team/switch/", team=str(team.team.pk))
    name = Server.objects.get(pk=server).name
    page = foreigner.get("/servers/").text()
    assert "Warehouse" in page
    assert name not in page
