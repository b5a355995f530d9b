"""How long tools take: what was learned is shown to all, limits are set by admins."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from mcpdesk.accounts.models import Role
from mcpdesk.audit.models import Event
from tasks_monitor.models import Expectation, Server
from tests.factories import ServerFactory
from tests.web.browsing import browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def server() -> Server:
    server: Server = ServerFactory()
    for name in ("deploy", "search"):
        server.tools.create(name=name, definition={})
    return server


def page(client: Client, server: Server) -> str:
    return " ".join(client.get(f"/servers/{server.pk}/durations/").content.decode().split())


def set_limit(client: Client, server: Server, limit: str, tool: str = "deploy") -> str:
    data = {"tool": tool, "limit": limit}
    response = client.post(f"/servers/{server.pk}/durations/", data, follow=True)
    return " ".join(response.content.decode().split())


@pytest.mark.parametrize("role", list(Role))
def test_everybody_sees_what_is_usual_and_only_admins_a_form(server: Server, role: Role) -> None:
    Expectation.objects.create(server=server, tool_name="deploy", usual_ms=240_000, samples=80)
    shown = page(browser(role, server.team), server)
    assert "Usually up to 4 min (80 calls). Somebody is told after 6 min." in shown
    assert "Not enough calls yet to know what is usual. Nobody is told." in shown
    assert ('name="limit"' in shown) == (role is Role.ADMIN)


def test_an_admin_sets_a_limit_and_takes_it_away(server: Server) -> None:
    client = browser(Role.ADMIN, server.team)
    shown = set_limit(client, server, "90")
    assert "Saved." in shown and "Somebody is told after 1 min, the limit." in shown
    assert 'value="90"' in shown
    shown = set_limit(client, server, "")
    assert "Nobody is told." in shown
    assert Event.objects.filter(kind="server.limit_set").count() == 2


@pytest.mark.parametrize(
    ("limit", "tool", "says"),
    [
        ("0", "deploy", "A limit is at least 1 second. Nothing was changed."),
        ("99999999", "deploy", "A limit is at most 30 days. Nothing was changed."),
        ("soon", "deploy", "A limit is a whole number of seconds. Nothing was changed."),
        ("5", "unheard", "The server lists no such tool. Nothing was changed."),
    ],
)
def test_a_limit_that_means_nothing_is_refused(
    server: Server, limit: str, tool: str, says: str
) -> None:
    assert says in set_limit(browser(Role.ADMIN, server.team), server, limit, tool)
    assert not Expectation.objects.exists()


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_others_set_no_limit(server: Server, role: Role) -> None:
    client = browser(role, server.team)
    path = f"/servers/{server.pk}/durations/"
    assert client.post(path, {"tool": "deploy", "limit": "5"}).status_code == 403
    assert not Expectation.objects.exists()


def test_a_server_of_another_team_does_not_exist(server: Server) -> None:
    foreign = browser(Role.ADMIN, ServerFactory().team)
    path = f"/servers/{server.pk}/durations/"
    assert foreign.get(path).status_code == 404
    assert foreign.post(path, {"tool": "deploy", "limit": "5"}).status_code == 404


def test_the_page_costs_the_same_for_any_number_of_tools(server: Server) -> None:
    client, costs = browser(Role.ADMIN, server.team), []
    for count in (1, 50):
        for number in range(count):
            name = f"tool-{count}-{number}"
            server.tools.create(name=name, definition={})
            Expectation.objects.create(server=server, tool_name=name, limit_s=5)
        with CaptureQueriesContext(connection) as asked:
            page(client, server)
        costs.append(len(asked))
    assert costs[0] == costs[1]


def test_the_servers_page_leads_there(server: Server) -> None:
    shown = browser(Role.VIEWER, server.team).get(f"/servers/{server.pk}/").content.decode()
    assert f"/servers/{server.pk}/durations/" in shown
