"""Starting a tool: server, tool, form; nothing is lost on a mistake, nothing happens twice."""

from typing import Any

import pytest
from django.test import Client

from approvals.models import Approval, PolicyRule
from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import Operation, Server, Tool
from tasks_monitor.states import State
from tests.factories import MembershipFactory, PolicyRuleFactory, ServerFactory
from tests.web.browsing import browser, htmx, signed_in

pytestmark = pytest.mark.django_db

FLAT = {
    "type": "object",
    "properties": {
        "project": {"type": "string", "title": "Project", "minLength": 2},
        "count": {"type": "integer", "minimum": 0, "default": 0},
        "where": {"type": "string", "enum": ["staging", "production"]},
    },
    "required": ["project", "count"],
}
NESTED = {
    "type": "object",
    "properties": {"options": {"type": "object", "properties": {"deep": {"type": "string"}}}},
    "required": ["options"],
}


@pytest.fixture
def operator() -> Membership:
    """Somebody of a team whose policy lets everything run."""
    membership = MembershipFactory(role=Role.OPERATOR)
    PolicyRuleFactory(team=membership.team)
    return membership


@pytest.fixture
def client(operator: Membership) -> Client:
    return signed_in(operator)


@pytest.fixture
def server(operator: Membership) -> Server:
    return ServerFactory(team=operator.team, name="build-server", questions_to="approvers")


def add_tool(server: Server, name: str = "deploy", schema: Any = None, **more: Any) -> str:
    """A tool of the server; returns the address of its form."""
    schema = FLAT if schema is None else schema
    definition = {"name": name, "inputSchema": schema, **more}
    Tool.objects.create(server=server, name=name, definition=definition)
    return f"/operations/new/?server={server.pk}&tool={name}"


def key_in(client: Client, url: str) -> str:
    return str(client.get(url).context["form"]["key"].value())


def filled(client: Client, url: str, **changes: Any) -> dict[str, Any]:
    """What a browser posts: the fields go by number, in the server's order."""
    data = {"field-0": "api", "field-1": "0", "field-2": "production", "reason": "release 43"}
    return {**data, "questions_to": "requester", "key": key_in(client, url), **changes}


def test_the_first_step_lists_the_teams_servers(client: Client, server: Server) -> None:
    ServerFactory(name="foreign-server")
    page = client.get("/operations/new/").content.decode()
    assert "build-server" in page
    assert "foreign-server" not in page


def test_the_second_step_lists_tools_with_the_servers_claims(
    client: Client, server: Server
) -> None:
    add_tool(server, description="<b>Deploys</b>", annotations={"readOnlyHint": True})
    Tool.objects.create(server=server, name="broken", definition={}, problem="x-mcp-header is odd")
    page = client.get(f"/operations/new/?server={server.pk}").content.decode()
    assert "&lt;b&gt;Deploys&lt;/b&gt;" in page
    assert "The server claims: only reads" in page
    assert "Left out: x-mcp-header is odd" in page
    assert "tool=broken" not in page


def test_tools_are_searched_with_a_plain_form_and_live(client: Client, server: Server) -> None:
    add_tool(server, "deploy")
    add_tool(server, "report")
    url = f"/operations/new/?server={server.pk}&q=REP"
    for extra in ({}, {"headers": htmx("tool-list")}):
        text = client.get(url, **extra).content.decode()
        assert "report" in text
        assert "deploy" not in text
        assert ("<html" in text) is (not extra)


def test_a_flat_schema_becomes_a_form_and_its_answer_the_arguments(
    client: Client, server: Server, operator: Membership
) -> None:
    url = add_tool(server)
    assert "Project" in client.get(url).content.decode()
    response = client.post(url, filled(client, url))
    operation = Operation.objects.get()
    assert response["Location"] == f"/operations/{operation.pk}/"
    assert operation.payload.arguments == {"project": "api", "count": 0, "where": "production"}
    assert (operation.started_by, operation.reason) == (operator.user, "release 43")
    assert (operation.questions_to, operation.repeatable) == ("requester", False)


def test_the_servers_rule_for_questions_is_suggested(client: Client, server: Server) -> None:
    form = client.get(add_tool(server)).context["form"]
    assert form["questions_to"].value() == "approvers"


def test_a_mistake_stands_beside_its_field_and_nothing_is_lost(
    client: Client, server: Server
) -> None:
    url = add_tool(server)
    data = filled(client, url, **{"field-0": "x", "field-1": "-1"})
    response = client.post(url, data)
    assert response.status_code == 422
    errors = {c.field.name: c.error for c in response.context["arguments"].controls}
    assert errors["project"]
    assert errors["count"]
    assert not errors["where"]
    page = response.content.decode()
    assert "Nothing was started." in page
    assert 'value="-1"' in page
    assert 'value="release 43"' in page
    assert f'value="{data["key"]}"' in page
    assert not Operation.objects.exists()


def test_a_form_that_is_sent_twice_starts_one_operation(client: Client, server: Server) -> None:
    url = add_tool(server)
    data = filled(client, url)
    first, second = client.post(url, data), client.post(url, data)
    assert first["Location"] == second["Location"]
    assert Operation.objects.count() == 1


def test_a_form_that_is_sent_again_with_other_content_is_refused(
    client: Client, server: Server
) -> None:
    url = add_tool(server)
    data = filled(client, url)
    client.post(url, data)
    response = client.post(url, {**data, "field-0": "other"})
    assert response.status_code == 422
    assert Operation.objects.count() == 1


def test_two_forms_start_two_operations(client: Client, server: Server) -> None:
    url = add_tool(server)
    client.post(url, filled(client, url))
    client.post(url, filled(client, url))
    assert Operation.objects.count() == 2


@pytest.mark.parametrize("key", ["", "not-a-key"])
def test_a_form_without_its_key_starts_nothing(client: Client, server: Server, key: str) -> None:
    url = add_tool(server)
    assert client.post(url, filled(client, url, key=key)).status_code == 422
    assert not Operation.objects.exists()


def test_what_a_form_cannot_show_is_written_as_json(client: Client, server: Server) -> None:
    url = add_tool(server, schema=NESTED)
    assert client.get(url).context["arguments"].why_json
    assert "Back to the form" not in client.get(f"{url}&as=json").content.decode()
    client.post(url, filled(client, url, arguments='{"options": {"deep": "x"}}'))
    assert Operation.objects.get().payload.arguments == {"options": {"deep": "x"}}


def test_json_can_be_chosen_for_any_tool(client: Client, server: Server) -> None:
    url = add_tool(server)
    editor = client.get(f"{url}&as=json").content.decode()
    assert 'name="arguments"' in editor
    assert "Back to the form" in editor
    client.post(f"{url}&as=json", filled(client, url, arguments='{"anything": [1.50]}'))
    assert Operation.objects.get().payload.arguments == {"anything": [1.5]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{nope", "This is not JSON"),
        ("[1]", "must be a JSON object"),
        ("", "This is not JSON"),
        ("[" * 100_000, "The JSON nests too deeply."),
        ('{"x": NaN}', "not valid JSON"),
    ],
)
def test_json_that_will_not_do_is_told_and_kept(
    client: Client, server: Server, text: str, says: str
) -> None:
    url = add_tool(server, schema=NESTED)
    response = client.post(url, filled(client, url, arguments=text))
    assert response.status_code == 422
    assert says in response.content.decode()
    assert response.context["arguments"].text == text
    assert not Operation.objects.exists()


def test_a_tool_without_arguments_needs_none(client: Client, server: Server) -> None:
    url = add_tool(server, schema={"type": "object"})
    assert "takes no arguments" in client.get(url).content.decode()
    client.post(url, filled(client, url))
    assert Operation.objects.get().payload.arguments == {}


@pytest.mark.parametrize("schema", [[], 7, {"type": "array"}, {"$ref": "https://x.example/s"}])
def test_a_schema_of_any_shape_ends_in_a_page(client: Client, server: Server, schema: Any) -> None:
    assert client.get(add_tool(server, schema=schema)).status_code == 200


@pytest.mark.parametrize("query", ["?server=0", "?server=x", "?server={server}&tool=nothing"])
def test_what_does_not_exist_is_not_found(client: Client, server: Server, query: str) -> None:
    assert client.get("/operations/new/" + query.format(server=server.pk)).status_code == 404


def test_a_foreign_server_does_not_exist(client: Client) -> None:
    url = add_tool(ServerFactory())
    assert client.get(url).status_code == 404
    assert client.post(url, {"field-0": "api", "field-1": "0"}).status_code == 404
    assert not Operation.objects.exists()


def test_a_tool_that_was_left_out_cannot_be_started(client: Client, server: Server) -> None:
    Tool.objects.create(server=server, name="bad", definition={}, problem="odd")
    assert client.post(f"/operations/new/?server={server.pk}&tool=bad").status_code == 404


@pytest.mark.parametrize("role", list(Role))
def test_only_operators_and_admins_start(
    operator: Membership, client: Client, server: Server, role: Role
) -> None:
    url = add_tool(server)
    data = filled(client, url)
    response = browser(role, operator.team).post(url, data)
    may = role in {Role.OPERATOR, Role.ADMIN}
    assert (response.status_code == 302) is may
    assert Operation.objects.exists() is may


# --- what the policy says


def test_what_would_happen_is_told_and_nothing_is_started(
    client: Client, server: Server, operator: Membership
) -> None:
    url = add_tool(server)
    page = client.post(url, filled(client, url, check="1"))
    assert "This call would run at once, because rule 1" in page.content.decode()
    PolicyRule.objects.filter(team=operator.team).delete()
    page = client.post(url, filled(client, url, check="1"))
    assert "ask one of the team&#x27;s approvers" in page.content.decode()
    assert 'value="release 43"' in page.content.decode()
    assert not Operation.objects.exists()


def test_what_the_policy_asks_about_is_made_and_not_sent(
    client: Client, server: Server, operator: Membership
) -> None:
    PolicyRule.objects.filter(team=operator.team).update(effect="ask")
    url = add_tool(server)
    page = client.post(url, filled(client, url), follow=True).content.decode()
    assert Operation.objects.get().state == State.AWAITING_APPROVAL
    assert "Nothing was sent yet." in page
    assert "Waiting for approval by the team&#x27;s approvers" in page
    assert f"/inbox/{Approval.objects.get().pk}/" in page


def test_what_the_policy_disables_is_refused_and_nothing_that_was_typed_is_lost(
    client: Client, server: Server, operator: Membership
) -> None:
    PolicyRule.objects.filter(team=operator.team).update(effect="disabled", name="Frozen")
    url = add_tool(server)
    response = client.post(url, filled(client, url))
    assert response.status_code == 422
    page = response.content.decode()
    assert "is disabled: rule 1 (Frozen)" in page
    assert 'value="release 43"' in page
    assert not Operation.objects.exists()
