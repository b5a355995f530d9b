"""The servers' pages, and the tests of a connection against the real simulator."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.models import Event
from tasks_monitor.models import Era, Server, Tool
from tests.conftest import SimulatorProcess, free_port
from tests.engine.desk import spoil
from tests.factories import NOW, MembershipFactory, OperationFactory, ServerFactory
from tests.web.browsing import browser, htmx, signed_in

pytestmark = pytest.mark.django_db

SECRET = "s3cret-token"


@pytest.fixture
def client(operator: Membership) -> Client:
    return browser(Role.ADMIN, operator.team)


def page_of(client: Client, server: Server, query: str = "") -> str:
    return " ".join(client.get(f"/servers/{server.pk}/{query}").content.decode().split())


def filled(url: str, /, **changes: Any) -> dict[str, Any]:
    data = {"name": "new-one", "url": url, "identity": "bot", "questions_to": "approvers"}
    return {**data, "auth_kind": "none", "allow_private": "on", **changes}


def edited(**changes: Any) -> dict[str, Any]:
    data = filled("", max_in_flight=8, call_timeout_s=60, **changes)
    return {key: value for key, value in data.items() if key != "url"}


def test_adding_a_server_finds_out_what_is_there(
    client: Client, simulator: SimulatorProcess
) -> None:
    response = client.post("/servers/new/", filled(simulator.url), follow=True)
    server = Server.objects.get(name="new-one")
    page = " ".join(response.content.decode().split())
    assert (server.era, server.test_problem) == (Era.MODERN, "")
    assert "Modern (2026-07-28 or later), version 2026-07-28" in page
    assert "mcpdesk-simulator" in page
    assert "deploy_project" in page
    assert "The server claims: may write, may destroy" in page
    kinds = set(Event.objects.values_list("kind", flat=True))
    assert kinds == {"server.added", "server.tested"}


def test_a_server_that_cannot_be_reached_is_kept_and_the_trouble_is_a_sentence(
    client: Client,
) -> None:
    url = f"http://127.0.0.1:{free_port()}/mcp"
    response = client.post("/servers/new/", filled(url), follow=True)
    server = Server.objects.get(name="new-one")
    assert server.test_problem
    assert "The last test found a problem" in response.content.decode()


def test_a_private_address_is_not_called_unless_it_is_allowed(
    client: Client, simulator: SimulatorProcess
) -> None:
    data = filled(simulator.url)
    del data["allow_private"]
    client.post("/servers/new/", data)
    server = Server.objects.get(name="new-one")
    assert server.test_problem
    assert not server.tools.exists()


PRIVATE = "The server&#x27;s address is private, and private addresses are not allowed for it."


@pytest.mark.parametrize(
    ("by_the_desk", "since", "says"),
    [
        (True, False, "press “Change”, tick “It stands on a private or local address”, and then"),
        (True, True, "They have been allowed for it since then: press “Test connection”."),
        (False, False, "This desk allows them for no server: see MCPDESK_ALLOW_PRIVATE_SERVERS."),
    ],
)
def test_of_a_private_address_the_page_says_once_what_is_wrong_and_where_to_allow_it(
    client: Client, settings: Any, by_the_desk: bool, since: bool, says: str
) -> None:
    data = filled("https://127.0.0.1:9/mcp")
    del data["allow_private"]
    client.post("/servers/new/", data, follow=True)
    settings.ALLOW_PRIVATE_SERVERS = by_the_desk
    server = Server.objects.get(name="new-one")
    Server.objects.update(allow_private=since)
    page = page_of(client, server)
    assert page.count(PRIVATE) == 1
    assert f"{PRIVATE} " in page
    assert says in page
    assert "No tools are known: the last test did not get that far." in page
    assert "have not been read yet" not in page


def test_who_cannot_change_a_server_reads_who_can(operator: Membership) -> None:
    server = ServerFactory(team=operator.team, tested_at=NOW, test_problem="It broke.")
    page = page_of(signed_in(operator), server)
    assert "It broke. An admin of the team can change it, and test it again." in page
    assert "press “" not in page


def test_a_server_that_was_never_tested_says_how_to(client: Client, operator: Membership) -> None:
    page = page_of(client, ServerFactory(team=operator.team))
    assert "The tools have not been read yet.</strong> Press “Test connection”." in page


def test_testing_again_reads_the_tools_anew(
    client: Client, operator: Membership, simulator: SimulatorProcess
) -> None:
    server = ServerFactory(team=operator.team, url=simulator.url, allow_private=True)
    Tool.objects.create(server=server, name="gone", definition={})
    client.post(f"/servers/{server.pk}/test/")
    assert not server.tools.filter(name="gone").exists()
    assert server.tools.filter(name="deploy_project").exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "Not A Slug"}, "A name has 1 to 40 small letters"),
        ({"url": "ftp://host/mcp"}, "Give the whole address"),
        ({"url": "https://user:pw@host/mcp"}, "Leave user name and password out"),
        ({"auth_kind": "bearer"}, "Needed for this kind of sign-in."),
        ({"token": SECRET}, "or leave this empty"),
        ({"auth_kind": "headers", "headers": "no colon"}, "Write each line as"),
        ({"auth_kind": "headers", "headers": "Host: x"}, "cannot be sent as a header"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_added(
    client: Client, changes: dict[str, str], says: str
) -> None:
    response = client.post("/servers/new/", filled("https://host.example/mcp", **changes))
    assert response.status_code == 422
    assert says in response.content.decode()
    assert 'value="bot"' in response.content.decode()
    assert not Server.objects.exists()


def test_a_secret_is_stored_encrypted_and_never_shown_again(
    client: Client, operator: Membership
) -> None:
    server = ServerFactory(team=operator.team)
    client.post(f"/servers/{server.pk}/edit/", edited(name="x", auth_kind="bearer", token=SECRET))
    server.refresh_from_db()
    assert server.credential == {"headers": [["Authorization", f"Bearer {SECRET}"]]}
    for page in (page_of(client, server), client.get(f"/servers/{server.pk}/edit/").content):
        assert SECRET not in str(page)
    assert SECRET not in str(list(Event.objects.values_list("data", flat=True)))


def test_an_empty_secret_keeps_the_stored_one_and_a_typed_one_replaces_it(
    client: Client, operator: Membership
) -> None:
    stored = {"headers": [["Authorization", "Bearer old"]]}
    server = ServerFactory(team=operator.team, auth_kind="bearer", credential=stored)
    address = f"/servers/{server.pk}/edit/"
    client.post(address, edited(name="renamed", auth_kind="bearer", token=""))
    server.refresh_from_db()
    assert (server.name, server.credential) == ("renamed", stored)
    client.post(address, edited(name="renamed", auth_kind="headers", headers="X-Key: a: b\n\n"))
    server.refresh_from_db()
    assert server.credential == {"headers": [["X-Key", "a: b"]]}


def test_the_address_of_a_server_cannot_be_changed(client: Client, operator: Membership) -> None:
    server = ServerFactory(team=operator.team)
    client.post(f"/servers/{server.pk}/edit/", {**edited(), "url": "https://evil.example/mcp"})
    server.refresh_from_db()
    assert server.url == "https://deploy.internal.example/mcp"


def test_pausing_and_resuming(client: Client, operator: Membership) -> None:
    stored = {"headers": [["Authorization", "Bearer old"]]}
    server = ServerFactory(team=operator.team, auth_kind="bearer", credential=stored)
    client.post(f"/servers/{server.pk}/pause/", {"paused": "yes"})
    server.refresh_from_db()
    assert (server.paused, server.credential) == (True, stored)
    assert "Paused: nothing is sent" in page_of(client, server)
    client.post(f"/servers/{server.pk}/pause/", {"paused": "no"})
    server.refresh_from_db()
    assert not server.paused


def test_a_tool_that_is_left_out_says_why(client: Client, server: Server) -> None:
    Tool.objects.create(server=server, name="bad", definition={}, problem="x-mcp-header is odd.")
    page = page_of(client, server)
    assert "Left out: x-mcp-header is odd." in page
    assert "1 tool, 1 of them left out" in page


def test_tools_are_found_by_name_title_and_description(client: Client, server: Server) -> None:
    for name, title, description in (
        ("a", "Alpha", ""),
        ("b", "", "makes ALPHAbets"),
        ("c", "", ""),
    ):
        definition = {"name": name, "title": title, "description": description}
        Tool.objects.create(server=server, name=name, definition=definition)
    tools = client.get(f"/servers/{server.pk}/?q=alpha").context["tools"]
    assert [tool.name for tool in tools] == ["a", "b"]


@pytest.mark.parametrize("definition", [[], "x", {"annotations": 1, "title": 2}, {}])
def test_a_definition_of_any_shape_can_be_shown(
    client: Client, server: Server, definition: Any
) -> None:
    Tool.objects.create(server=server, name="odd", definition=definition)
    assert "odd" in page_of(client, server)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"era": Era.UNTESTED}, "Not tested yet"),
        ({"tested_at": NOW}, "Answered the test"),
        ({"last_ok_at": NOW}, "Reachable, last answer 1 min ago"),
        ({"unreachable_since": NOW}, "Unreachable since"),
        ({"era": Era.LEGACY}, "Speaks only the older protocol"),
        (
            {"not_before": NOW + timedelta(hours=1), "not_before_reason": "throttled"},
            "Slow down asked until",
        ),
        (
            {"not_before": NOW + timedelta(hours=1), "not_before_reason": "authorization"},
            "Refused our credential",
        ),
        ({"clock_skew_ms": 120_000}, "differs from ours by 120,000 ms"),
    ],
)
def test_health_is_said_in_words(
    client: Client, operator: Membership, columns: dict[str, Any], says: str
) -> None:
    server = ServerFactory(team=operator.team, **columns)
    with time_machine.travel(NOW + timedelta(minutes=1), tick=False):
        page = page_of(client, server)
    assert says in strip_tags(page)


@pytest.mark.parametrize("role", list(Role))
def test_everybody_sees_servers_and_only_admins_change_them(
    operator: Membership, server: Server, role: Role
) -> None:
    client = browser(role, operator.team)
    page = client.get("/servers/").content.decode()
    assert "build-server" in page
    assert ("Add a server" in page) is (role is Role.ADMIN)
    assert ("Test connection" in page_of(client, server)) is (role is Role.ADMIN)
    if role is Role.ADMIN:
        return
    for path in ("new/", f"{server.pk}/edit/", f"{server.pk}/test/", f"{server.pk}/pause/"):
        assert client.post(f"/servers/{path}", edited(paused="yes")).status_code == 403
    assert not Event.objects.exists()


def test_another_teams_server_does_not_exist(server: Server) -> None:
    foreign = signed_in(MembershipFactory(role=Role.ADMIN))
    assert "build-server" not in foreign.get("/servers/").content.decode()
    assert foreign.get(f"/servers/{server.pk}/").status_code == 404
    assert foreign.get(f"/servers/{server.pk}/edit/").status_code == 404
    for verb in ("edit", "test", "pause"):
        assert foreign.post(f"/servers/{server.pk}/{verb}/", edited()).status_code == 404


def test_the_list_counts_tools_that_can_be_called_and_open_operations(
    client: Client, server: Server
) -> None:
    for name, problem in (("a", ""), ("b", ""), ("c", "odd")):
        Tool.objects.create(server=server, name=name, definition={}, problem=problem)
    OperationFactory.create_batch(3, server=server)
    OperationFactory(server=server, state="completed", finished_at=timezone.now())
    assert "2 tools · 3 open operations" in client.get("/servers/").content.decode()


@pytest.mark.parametrize("number", [1, 12])
def test_the_list_costs_the_same_for_any_number_of_servers(
    client: Client, operator: Membership, number: int, django_assert_num_queries: Any
) -> None:
    ServerFactory.create_batch(number, team=operator.team)
    with django_assert_num_queries(9):
        client.get("/servers/")


def test_a_live_region_is_answered_alone(client: Client, server: Server) -> None:
    one = f"{server.pk}/"
    for path, region in (("", "server-list"), (one, "server-live"), (one, "server-tools")):
        text = client.get(f"/servers/{path}", headers=htmx(region)).content.decode().strip()
        assert text.startswith(f'<div id="{region}"')


def test_the_last_trouble_stands_with_its_time_where_that_is_known(
    client: Client, operator: Membership
) -> None:
    server = ServerFactory(team=operator.team, last_problem="It was <b>away</b>.")
    assert "Last trouble: It was &lt;b&gt;away" in page_of(client, server)
    server.last_problem_at = timezone.now() - timedelta(minutes=3)
    server.save()
    stamp = server.last_problem_at.isoformat(timespec="seconds")[:16]
    assert f'Last trouble, <time datetime="{stamp}' in page_of(client, server)


@pytest.fixture
def lost(operator: Membership) -> Server:
    """A server of which no key opens anything that is encrypted any more."""
    server: Server = ServerFactory(team=operator.team, auth_kind="bearer", discovery={"x": 1})
    tool = Tool.objects.create(server=server, name="deploy", definition={})
    for column in ("credential", "discovery"):
        spoil("server", column, server.pk)
    spoil("tool", "definition", tool.pk)
    return server


def test_a_page_says_what_no_key_opens_and_what_to_do(
    client: Client, operator: Membership, lost: Server
) -> None:
    page = page_of(client, lost)
    assert "No key of this desk opens the credential that is stored" in page
    assert "Press “Change” and give the credential once more" in page
    assert "What was found here cannot be read" in page
    assert "Press “Test connection” to find it out again" in page
    assert "An admin of the team can give it once more" in page_of(signed_in(operator), lost)
    form = client.get(f"/servers/{lost.pk}/edit/").content.decode()
    assert "A credential is stored that no key of this desk opens" in form


def test_a_test_of_a_credential_that_no_key_opens_says_what_to_do(
    client: Client, lost: Server
) -> None:
    page = client.post(f"/servers/{lost.pk}/test/", follow=True).content.decode()
    assert "Nothing was sent: press “Change” and give the credential once more" in page


def test_a_credential_that_no_key_opens_is_replaced_by_the_one_that_is_typed(
    client: Client, lost: Server
) -> None:
    answer = client.post(
        f"/servers/{lost.pk}/edit/", edited(name=lost.name, auth_kind="bearer", token=SECRET)
    )
    assert answer.status_code == 302
    assert "No key of this desk opens the credential" not in page_of(client, lost)


def test_a_page_whose_values_open_says_nothing_of_keys(client: Client, server: Server) -> None:
    assert "No key of this desk" not in page_of(client, server)
