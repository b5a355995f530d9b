"""What forms could name of another team; every address with a foreign id is in tests/access."""

from typing import Any

import pytest
from playwright.sync_api import APIResponse

from tasks_monitor.models import Operation, Server
from tests.browser.people import Crew, Person, crew
from tests.browser.whole_desk import WholeDesk

pytestmark = pytest.mark.browser


@pytest.fixture
def foreigner(desk: WholeDesk, employ_at: Any) -> Person:
    """Somebody of another team with every right there is."""
    return crew("Warehouse", employ_at(desk)).admin


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
