"""The list of operations: tabs, filters, pages, who sees it, what it costs."""

from datetime import timedelta
from typing import Any

import pytest

from mcpdesk.accounts.models import Membership, Role
from tasks_monitor import selectors
from tasks_monitor.models import Answerers, Server, Tool
from tasks_monitor.states import State
from tests.factories import NOW, InputRequestFactory, OperationFactory
from tests.web.browsing import browser, htmx, signed_in

pytestmark = pytest.mark.django_db


def shown(client: Any, query: str = "") -> list[str]:
    """The tools on the list, in its order."""
    rows = client.get(f"/operations/{query}").context["rows"]
    return [row["operation"].tool_name for row in rows]


def ended(state: State, **columns: Any) -> dict[str, Any]:
    return {"state": state, "finished_at": NOW, **columns}


@pytest.mark.parametrize("tab", list(selectors.Tab))
def test_each_state_stands_on_the_tabs_that_are_about_it(
    operator: Membership, server: Server, tab: selectors.Tab
) -> None:
    for state in State:
        OperationFactory(server=server, tool_name=state.value, state=state)
    assert set(shown(signed_in(operator), f"?tab={tab}")) == set(selectors.STATES_OF[tab])


def test_the_tabs_that_matter_are_counted(operator: Membership, server: Server) -> None:
    for state in State:
        OperationFactory(server=server, state=state)
    tabs = signed_in(operator).get("/operations/").context["tabs"]
    assert [tab["count"] for tab in tabs] == [8, 2, 3, None, None]


def test_a_row_says_what_is_waited_for(operator: Membership, server: Server) -> None:
    asked = OperationFactory(server=server, questions_to=Answerers.APPROVERS)
    InputRequestFactory(operation=asked)
    OperationFactory(server=server, idle_input_polls=2)
    OperationFactory(server=server)
    page = signed_in(operator).get("/operations/").content.decode()
    assert "Waiting for the team&#x27;s approvers" in page
    assert f"Waiting for {server.name}, which asks nothing" in page
    assert f"Answered, on its way to {server.name}" in page


def test_an_unknown_tab_is_the_first(operator: Membership, server: Server) -> None:
    OperationFactory(server=server, tool_name="here")
    assert shown(signed_in(operator), "?tab=nonsense&after=nonsense") == ["here"]


def test_operations_of_another_team_do_not_exist(operator: Membership, server: Server) -> None:
    OperationFactory()
    assert shown(signed_in(operator), "?tab=all") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?tool=DEPLOY", ["deploy"]),
        ("?state=working", ["report"]),
        ("?mine=yes", ["report"]),
        ("?server={server}", ["report", "deploy"]),
        ("?tool=nothing", []),
    ],
)
def test_filters_narrow_the_list(
    operator: Membership, server: Server, query: str, expected: list[str]
) -> None:
    OperationFactory(server__team=operator.team, tool_name="else", created_at=NOW)
    OperationFactory(server=server, tool_name="deploy", created_at=NOW + timedelta(1))
    OperationFactory(
        server=server,
        tool_name="report",
        state=State.WORKING,
        started_by=operator.user,
        created_at=NOW + timedelta(2),
    )
    assert shown(signed_in(operator), query.format(server=server.pk)) == expected


def test_part_of_the_name_finds_the_tools_that_a_server_lists(
    operator: Membership, server: Server
) -> None:
    Tool.objects.create(server=server, name="deploy_project", definition={})
    OperationFactory(server=server, tool_name="deploy_project")
    assert shown(signed_in(operator), "?tool=PLOY_p") == ["deploy_project"]


def test_no_match_is_told_apart_from_nothing_at_all(operator: Membership, server: Server) -> None:
    client = signed_in(operator)
    assert "Nothing is running." in client.get("/operations/").content.decode()
    page = client.get("/operations/?tool=x").content.decode()
    assert "Nothing matches these filters." in page


def test_a_foreign_server_in_the_filter_shows_nothing_of_it(operator: Membership) -> None:
    foreign = OperationFactory()
    page = signed_in(operator).get(f"/operations/?tab=all&server={foreign.server_id}")
    assert foreign.server.name not in page.content.decode()


def test_pages_go_on_where_the_last_one_ended(
    operator: Membership, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "PAGE_ROWS", 2)
    for number in range(5):  # all at the same moment: the id decides the order
        OperationFactory(server=server, tool_name=f"tool-{number}")
    client, url, seen = signed_in(operator), "/operations/?tab=all&state=input_required", []
    while url:
        context = client.get(url).context
        seen += [row["operation"].tool_name for row in context["rows"]]
        url = context["older"]
    assert sorted(seen) == [f"tool-{number}" for number in range(5)]
    assert len(seen) == len(set(seen))


def test_a_tools_own_error_is_neither_a_success_nor_a_failure(
    operator: Membership, server: Server
) -> None:
    OperationFactory(server=server, **ended(State.COMPLETED))
    OperationFactory(server=server, **ended(State.COMPLETED, is_error=True))
    OperationFactory(server=server, **ended(State.FAILED))
    rows = signed_in(operator).get("/operations/?tab=ended").context["rows"]
    assert {row["outcome"] for row in rows} == {"Completed", "Tool reported an error", "Failed"}


@pytest.mark.parametrize("role", list(Role))
def test_every_role_sees_the_list_and_operators_and_admins_start(
    operator: Membership, server: Server, role: Role
) -> None:
    OperationFactory(server=server, tool_name="here")
    page = browser(role, operator.team).get("/operations/").content.decode()
    assert "here" in page
    assert ("Start a tool" in page) is (role in {Role.OPERATOR, Role.ADMIN})


def test_a_live_list_is_the_list_alone(operator: Membership, server: Server) -> None:
    OperationFactory(server=server, tool_name="here")
    page = signed_in(operator).get("/operations/?tool=here", headers=htmx("operation-list"))
    text = page.content.decode()
    assert "here" in text
    assert "<html" not in text
    assert 'data-live="operations"' in text
    assert 'hx-get="/operations/?tool=here"' in text


@pytest.mark.parametrize("rows", [1, 20])
def test_the_list_costs_the_same_for_any_number_of_rows(
    operator: Membership, server: Server, rows: int, django_assert_num_queries: Any
) -> None:
    OperationFactory.create_batch(rows, server=server)
    client = signed_in(operator)
    # session, user, memberships, stand-ins; servers of the filter, counts, lines, rows, who is
    # asked; the inbox's count, holds, alerts, silences
    with django_assert_num_queries(13):
        client.get("/operations/")


def test_a_tools_name_is_text_and_never_markup(operator: Membership, server: Server) -> None:
    OperationFactory(server=server, tool_name="<b>x</b>\u202egnp")
    page = signed_in(operator).get("/operations/").content.decode()
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "U+202E" in page
    assert "\u202e" not in page
