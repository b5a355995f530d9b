"""Start, read, list, cancel and adopt through the API: the verbs of the pages."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import RequestFactory

from approvals.models import Approval, Effect
from mcpdesk.accounts.models import Role, Team
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api.callers import ASKED_AGAIN, Bearer
from mcpdesk.api.problems import Problem
from mcpdesk.api.waiting import UNSETTLED
from mcpdesk.audit.models import Channel, Event
from tasks_monitor.models import Operation, Server
from tasks_monitor.states import State
from tests.api.calling import PROBLEM, Caller, person, service
from tests.factories import (
    NOW,
    MembershipFactory,
    OperationFactory,
    PolicyRuleFactory,
    ServerFactory,
    TeamFactory,
)
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db
CALL = {"server": "builds", "tool": "deploy_project", "arguments": {"project": "api"}}


@pytest.fixture
def team() -> Team:
    team = TeamFactory()
    PolicyRuleFactory(team=team)
    return team


@pytest.fixture
def server(team: Team) -> Server:
    return ServerFactory(team=team, name="builds")


@pytest.fixture
def bot(team: Team, server: Server) -> Caller:
    return service(team)


def test_starting_keeps_the_operation_and_says_where_it_is(bot: Caller) -> None:
    answer = bot.start(**CALL, reason="release 43")
    body = answer.json()
    assert answer.status_code == 202
    assert answer["Location"] == body["links"]["self"]
    assert (body["state"], body["outcome"], body["needs"]) == ("ready", None, None)
    assert (body["started_by"], body["by_service"]) == ("deploy-bot", True)
    made = Operation.objects.get(pk=body["id"])
    assert (made.started_by, made.token, made.reason) == (None, bot.token, "release 43")


def test_a_service_stands_in_the_log_under_its_name(bot: Caller) -> None:
    bot.start(**CALL)
    event = Event.objects.get(kind="operation.started")
    assert (event.actor, event.actor_name, event.channel) == (None, "deploy-bot", Channel.API)


def test_a_person_stands_in_the_log_as_a_person(team: Team, server: Server) -> None:
    caller = person(team)
    body = caller.start(**CALL).json()
    assert (body["started_by"], body["by_service"]) == (str(caller.token.user), False)
    event = Event.objects.get(kind="operation.started")
    assert (event.actor, event.channel) == (caller.token.user, Channel.API)


def test_who_may_start_and_not_read_gets_the_held_answer_to_a_start(
    team: Team, server: Server, rf: RequestFactory
) -> None:
    """A 403 behind a start that was kept would be taken for a start that was refused."""
    caller = service(team, scopes=[Scope.START])
    made = caller.start(**CALL).json()["id"]
    assert caller.get(f"/operations/{made}").status_code == 403
    request: Any = rf.get(f"/api/v1/operations/{made}", headers=caller.headers)
    request.scope = {ASKED_AGAIN: Scope.START}
    assert Bearer(Scope.READ)(request).token == caller.token
    request.scope = {ASKED_AGAIN: Scope.READ}
    with pytest.raises(Problem, match="no scope"):
        Bearer(Scope.READ)(request)


def test_the_same_key_is_the_same_operation(bot: Caller, team: Team) -> None:
    first, again = bot.start(**CALL), bot.start(**CALL)
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"]
    # a token that took the place of the first one meets it too
    bot.token.revoked_at = bot.token.created_at
    bot.token.save()
    assert service(team).start(**CALL).json()["id"] == first.json()["id"]
    assert Operation.objects.count() == 1


def test_a_key_for_something_else_is_refused(bot: Caller) -> None:
    bot.start(**CALL)
    answer = bot.start(**{**CALL, "arguments": {"project": "web"}})
    assert answer.status_code == 422
    assert "used for a different request" in answer.json()["detail"]


def test_a_key_of_the_api_never_meets_that_of_a_form(bot: Caller, team: Team) -> None:
    OperationFactory(team=team, server__team=team, idempotency_key="form:k")
    assert bot.start(key="form:k", **CALL).status_code == 202


def test_the_gate_is_asked_and_questions_of_a_service_go_to_the_approvers(
    bot: Caller, team: Team
) -> None:
    team.policy_rules.update(effect=Effect.ASK, ask={"audience": "requester"})
    body = bot.start(**CALL).json()
    assert (body["state"], body["needs"]) == ("awaiting_approval", "people")
    gate = Approval.objects.get()
    assert gate.audience == "approvers"
    assert [(one["id"], one["kind"]) for one in body["waiting"]] == [(str(gate.pk), "gate")]
    assert body["waiting"][0]["links"]["page"].endswith(f"/inbox/{gate.pk}/")


def test_what_the_policy_disables_is_a_403_and_nothing_is_made(bot: Caller, team: Team) -> None:
    team.policy_rules.update(effect=Effect.DISABLED)
    answer = bot.start(**CALL)
    assert (answer.status_code, answer["Content-Type"]) == (403, PROBLEM)
    assert answer.json()["type"] == "urn:mcpdesk:problem:policy"
    assert not Operation.objects.exists()


def test_a_server_of_another_team_does_not_exist(bot: Caller) -> None:
    ServerFactory(name="foreign")
    answer = bot.start(**{**CALL, "server": "foreign"})
    assert answer.json()["type"] == "urn:mcpdesk:problem:server"


@pytest.mark.parametrize(
    ("columns", "outcome"),
    [
        ({"state": State.COMPLETED}, "succeeded"),
        ({"state": State.COMPLETED, "is_error": True}, "tool_error"),
        ({"state": State.FAILED}, "failed"),
        ({"state": State.DENIED}, "denied"),
        ({"state": State.LOST}, None),
    ],
)
def test_each_ending_has_its_outcome(
    team: Team, server: Server, columns: dict[str, Any], outcome: str | None
) -> None:
    operation = OperationFactory(server=server, **columns)
    assert person(team).get(f"/operations/{operation.pk}").json()["outcome"] == outcome


@pytest.mark.parametrize(
    ("state", "until", "held"),
    [
        (State.WORKING, "input", True),
        (State.INPUT_REQUIRED, "input", False),
        (State.AWAITING_APPROVAL, "input", False),
        (State.INPUT_REQUIRED, "end", True),
        (State.LOST, "end", False),
        (State.COMPLETED, "end", False),
    ],
)
def test_an_answer_is_held_until_what_was_asked_for(
    team: Team, server: Server, state: State, until: str, held: bool
) -> None:
    operation = OperationFactory(server=server, state=state)
    path = f"/operations/{operation.pk}"
    answer = person(team).get(path, wait=30, until=until)
    assert answer.has_header(UNSETTLED) == held
    assert not person(team).get(path).has_header(UNSETTLED)


def test_a_service_sees_the_result_of_its_own_and_of_no_other(
    bot: Caller, team: Team, server: Server
) -> None:
    own = OperationFactory(server=server, started_by=None, token=bot.token)
    theirs = OperationFactory(server=server)
    other = OperationFactory(
        server=server, started_by=None, token=service(team, name="other-bot").token
    )
    for operation in (own, theirs, other):
        operation.payload.result = {"content": []}
        operation.payload.save()
    seen = [bot.get(f"/operations/{one.pk}").json() for one in (own, theirs, other)]
    assert [one["payload_visible"] for one in seen] == [True, False, False]
    assert [one["result"] for one in seen] == [{"content": []}, None, None]
    assert [one["arguments"] is None for one in seen] == [False, True, True]


def test_a_viewer_sees_the_operation_and_nothing_of_what_it_carried(
    team: Team, server: Server
) -> None:
    operation = OperationFactory(server=server)
    body = person(team, Role.VIEWER).get(f"/operations/{operation.pk}").json()
    assert (body["payload_visible"], body["arguments"]) == (False, None)


def test_the_list_goes_on_behind_its_cursor(team: Team, server: Server) -> None:
    made = {str(OperationFactory(server=server).pk) for _ in range(60)}
    caller = person(team, Role.VIEWER)
    first = caller.get("/operations").json()
    second = caller.get("/operations", after=first["after"]).json()
    found = [row["id"] for row in first["items"] + second["items"]]
    assert (len(found), set(found), second["after"]) == (60, made, "")


@pytest.mark.parametrize(
    "query",
    [
        {"since": "yesterday"},
        {"longer": "9x"},
        {"state": "gone"},
        {"server": "nowhere"},
        {"text": "."},
    ],
)
def test_a_filter_that_means_nothing_is_refused_and_never_dropped(
    bot: Caller, query: dict[str, str]
) -> None:
    """Else a program would take everything for what it had asked for."""
    assert bot.get("/operations", **query).status_code == 422


def test_the_list_is_sorted_and_bounded_in_time(team: Team, server: Server) -> None:
    made = [
        str(OperationFactory(server=server, created_at=NOW + timedelta(days=day)).pk)
        for day in range(3)
    ]
    query = {"sort": "oldest", "since": (NOW + timedelta(days=1)).isoformat()}
    found = person(team).get("/operations", **query).json()["items"]
    assert [row["id"] for row in found] == made[1:]


def test_the_list_is_narrowed_by_state_server_and_tool(team: Team, server: Server) -> None:
    wanted = OperationFactory(server=server, state=State.FAILED, tool_name="t")
    other = {"server": ServerFactory(team=team)}
    for columns in ({"state": State.LOST}, {"tool_name": "u"}, other):
        OperationFactory(**{"server": server, "state": State.FAILED, "tool_name": "t"} | columns)
    query = {"state": "failed", "server": "builds", "tool": "t"}
    found = person(team).get("/operations", **query).json()["items"]
    assert [row["id"] for row in found] == [str(wanted.pk)]


def test_the_list_costs_the_same_however_long_it_is(
    team: Team, server: Server, django_assert_max_num_queries: Any
) -> None:
    caller = person(team)
    for number in range(30):
        OperationFactory(
            server=server, started_by=None, token=service(team, name=f"bot-{number}").token
        )
    caller.get("/me")
    with django_assert_max_num_queries(8):
        assert len(caller.get("/operations").json()["items"]) == 30


def test_cancelling_asks_for_it_once(bot: Caller) -> None:
    operation = bot.start(**CALL).json()["id"]
    answer = bot.post(f"/operations/{operation}/cancel")
    assert (answer.status_code, answer.json()["outcome"]) == (202, "cancelled")
    assert bot.post(f"/operations/{operation}/cancel").status_code == 422
    event = Event.objects.get(kind="operation.cancel_requested")
    assert (event.actor_name, event.channel) == ("deploy-bot", Channel.API)


def test_cancelling_takes_its_scope_and_the_team(team: Team, server: Server) -> None:
    operation = OperationFactory(server=server)
    starter = service(team, scopes=[Scope.READ, Scope.START])
    assert starter.post(f"/operations/{operation.pk}/cancel").status_code == 403
    foreign = person(TeamFactory())
    assert foreign.post(f"/operations/{operation.pk}/cancel").status_code == 404


def test_adopting_follows_a_task_once(bot: Caller) -> None:
    task = {"server": "builds", "task_id": "t-1", "tool": "deploy_project"}
    first, again = bot.post("/operations/adopt", task), bot.post("/operations/adopt", task)
    assert (first.status_code, again.status_code) == (202, 200)
    made = Operation.objects.get()
    assert (made.adopted, made.token, made.started_by) == (True, bot.token, None)
    assert "t-1" not in first.content.decode()


def test_servers_and_tools_are_shown_without_credentials(bot: Caller, server: Server) -> None:
    server.credential = {"headers": [["Authorization", "Bearer hunter2"]]}
    server.save()
    server.tools.create(name="t", definition={"description": "does it", "inputSchema": {}})
    answer = bot.get("/servers")
    assert [one["name"] for one in answer.json()] == ["builds"]
    assert "hunter2" not in answer.content.decode()
    assert bot.get("/servers/builds/tools").json()[0]["description"] == "does it"
    assert bot.get("/servers/nothing/tools").status_code == 404


def test_pages_call_a_service_by_its_name(bot: Caller, team: Team) -> None:
    team.policy_rules.update(effect=Effect.ASK, ask={"audience": "approvers"})
    body = bot.start(**CALL).json()
    browser = signed_in(MembershipFactory(team=team, role=Role.APPROVER))
    for page in (body["links"]["page"], body["waiting"][0]["links"]["page"]):
        assert "deploy-bot" in browser.get(urlsplit(page).path).content.decode()
