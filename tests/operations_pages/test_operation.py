"""One operation's page: the state in words, what each role sees, the live regions."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import transaction
from django.test import Client
from django.utils.html import strip_tags

from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import DESK, record
from tasks_monitor.engine import rows
from tasks_monitor.models import Answerers, InputRequestState, Operation, Payload, Server
from tasks_monitor.states import State
from tests.factories import (
    NOW,
    ApprovalFactory,
    DeliveryFactory,
    InputRequestFactory,
    MembershipFactory,
    OperationFactory,
)
from tests.web.browsing import browser, htmx, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_a_quarter_past() -> Any:
    with time_machine.travel(NOW + timedelta(minutes=15), tick=False):
        yield


@pytest.fixture
def client(operator: Membership) -> Client:
    return signed_in(operator)


def text_of(client: Client, operation: Operation, **extra: Any) -> str:
    response = client.get(f"/operations/{operation.pk}/", **extra)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def headline(client: Client, operation: Operation) -> str:
    """The state line without its markup."""
    page = text_of(client, operation)
    start = page.index('<div class="state-line"')
    return strip_tags(page[start : page.index("</div>", start)])


def test_waiting_names_who_is_to_answer_and_for_how_long(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, started_by__name="Nina")
    question = InputRequestFactory(operation=operation, opened_at=NOW + timedelta(minutes=3))
    ApprovalFactory(input_request=question, audience="requester")
    assert headline(client, operation).strip() == "Waiting for Nina, 12 min"


def test_waiting_for_named_people_names_them(client: Client, server: Server) -> None:
    question = InputRequestFactory(operation__server=server)
    approval = ApprovalFactory(input_request=question, audience="people")
    approval.people.add(MembershipFactory(user__name="Pia").user)
    assert "Waiting for Pia" in headline(client, question.operation)


def test_what_is_put_to_the_admins_is_not_said_to_wait_for_who_started_it(
    client: Client, server: Server
) -> None:
    operation = OperationFactory(server=server, started_by__name="Nina")
    question = InputRequestFactory(operation=operation)
    ApprovalFactory(input_request=question, audience="admins")
    page = strip_tags(text_of(client, operation))
    assert "Waiting for the team&#x27;s admins" in page
    assert "Open: waits for the team&#x27;s admins" in page


def test_each_question_waits_for_those_alone_whom_it_was_put_to(
    client: Client, server: Server
) -> None:
    operation = OperationFactory(server=server, started_by__name="Nina")
    for audience in ("requester", "admins"):
        question = InputRequestFactory(operation=operation)
        ApprovalFactory(input_request=question, audience=audience)
    page = strip_tags(text_of(client, operation))
    assert "Waiting for the team&#x27;s admins, Nina" in page
    _, to_admins, to_starter = page.split("Open: waits for ")
    assert to_admins.startswith("the team&#x27;s admins ")
    assert to_starter.startswith("Nina ")


def test_what_nobody_started_waits_for_the_teams_approvers(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, started_by=None)
    InputRequestFactory(operation=operation)
    assert "Waiting for the team&#x27;s approvers" in headline(client, operation)


def test_an_answer_on_its_way_waits_for_nobody(client: Client, server: Server) -> None:
    question = InputRequestFactory(operation__server=server, state=InputRequestState.ANSWERED)
    line = headline(client, question.operation).strip()
    assert line == "Answered: the answer is on its way to build-server"


def test_a_server_that_wants_input_and_asks_nothing_is_not_said_to_wait_for_people(
    client: Client, server: Server
) -> None:
    operation = OperationFactory(server=server, idle_input_polls=3, idle_input_since=NOW)
    line = headline(client, operation)
    assert "Waiting for build-server: it says that it needs input, and asks nothing" in line
    assert "approvers" not in line


def test_what_nobody_can_answer_holds_the_operation_up(client: Client, server: Server) -> None:
    question = InputRequestFactory(operation__server=server, problem="This desk does not offer it.")
    assert "asks something that nobody can answer here" in headline(client, question.operation)


@pytest.mark.parametrize(
    ("failed", "sentence"),
    [
        (0, ""),
        (1, "The last check brought no answer that can be used."),
        (4, "The last 4 checks brought no answer that can be used."),
    ],
)
def test_checks_that_brought_nothing_are_told(
    client: Client, server: Server, failed: int, sentence: str
) -> None:
    operation = OperationFactory(server=server, state=State.WORKING, failed_polls=failed)
    page = text_of(client, operation)
    assert sentence in page
    assert ("no answer that can be used" in page) is bool(failed)


def test_why_a_check_brought_nothing_is_told_in_the_servers_last_trouble(
    client: Client, server: Server
) -> None:
    sentence = "The server's answer is bigger than 8 MiB or has no end, and was not kept."
    Server.objects.filter(pk=server.pk).update(last_problem=sentence, last_problem_at=NOW)
    operation = OperationFactory(server=server, state=State.WORKING, failed_polls=2)
    shown = strip_tags(text_of(client, operation))
    assert "Last trouble with build-server, 15 min ago: The server&#x27;s answer is bigger" in shown
    well = OperationFactory(server=server, state=State.WORKING)
    assert "Last trouble" not in text_of(client, well)


def test_a_deadline_that_has_passed_is_not_said_to_be_now(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, state=State.LOST, expires_at=NOW)
    assert ">time is up</time>" in text_of(client, operation)


def test_what_moves_every_second_is_not_read_out_each_time(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, state=State.WORKING, last_polled_at=NOW)
    moving = re.findall("<time data-(?:moving|age)[^>]*>", text_of(client, operation))
    assert moving
    assert all('aria-live="off"' in time for time in moving)


def test_running_says_when_it_was_looked_at_and_when_next(client: Client, server: Server) -> None:
    operation = OperationFactory(
        server=server,
        state=State.WORKING,
        task_id="t-1",
        last_polled_at=NOW + timedelta(minutes=15, seconds=-3),
        due_at=NOW + timedelta(minutes=15, seconds=4),
    )
    line = headline(client, operation).strip()
    assert line == "Running on build-server, last checked 3 s ago, next check in 4 s"


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_words(client: Client, server: Server, state: State) -> None:
    assert headline(client, OperationFactory(server=server, state=state)).strip()


def test_the_two_deadlines_stand_apart(client: Client, server: Server) -> None:
    operation = OperationFactory(
        server=server,
        task_id="t-1",
        deadline_at=NOW + timedelta(hours=1),
        expires_at=NOW + timedelta(hours=2),
    )
    page = text_of(client, operation)
    ours, theirs = page.index("Our deadline"), page.index("The server's deadline")
    assert "15:00:00 UTC" in page[ours:theirs]
    assert "16:00:00 UTC" in page[theirs:]


def test_a_task_kept_without_a_limit_says_so(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, task_id="t-1", last_changed_at=NOW)
    assert "keeps the task without a limit" in text_of(client, operation)


@pytest.mark.parametrize("state", [State.WORKING, State.LOST])
def test_of_a_task_that_the_server_never_spoke_of_no_limit_is_said(
    client: Client, server: Server, state: State
) -> None:
    made = OperationFactory(server=server, task_id="t-1", state=state, task_created_at=NOW)
    page = text_of(client, made)
    assert "without a limit" not in page
    assert "<dd>not said</dd>" in page
    assert "forgot the task" not in page and "know the task any more" not in page
    assert ("does not know this task: the id" in page) == (state == State.LOST)


def test_no_page_says_that_a_task_which_was_never_seen_is_not_known_any_more(
    client: Client, server: Server
) -> None:
    lost = OperationFactory(server=server, state=State.WORKING, task_id="t-1")
    question = InputRequestFactory(operation=lost)
    item = ApprovalFactory(input_request=question)
    with transaction.atomic():
        rows.move(lost, State.LOST, now=NOW, reason="The server says twice that it does not know")
    of_it = (f"/operations/{lost.pk}/", f"/operations/{lost.pk}/reconcile/", f"/inbox/{item.pk}/")
    for path in ("/", "/operations/?tab=attention", "/alerts/", *of_it):
        answer = client.get(path)
        assert answer.status_code == 200, path
        page = " ".join(strip_tags(answer.content.decode()).split())
        assert not re.search("(know|knows|known) (it|the task) any more|forgot", page), path


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"task_id": "t-1", "due_at": NOW}, "no end on build-server; the desk goes on checking it"),
        ({"task_id": "t-1"}, "build-server is not asked about the task any more until somebody"),
        ({}, "build-server never said how the call ended, and is not called again until somebody"),
    ],
)
def test_the_headline_of_what_is_stuck_says_whether_anything_is_still_asked(
    client: Client, server: Server, task: dict[str, Any], said: str
) -> None:
    line = headline(client, OperationFactory(server=server, state=State.STUCK, **task))
    assert said in line
    assert "keeps asking" not in line


def test_a_stuck_task_that_is_checked_is_not_said_to_stand_still(
    client: Client, server: Server
) -> None:
    stuck = {"server": server, "state": State.STUCK}
    checked = text_of(client, OperationFactory(**stuck, task_id="t-1", due_at=NOW))
    assert "The desk goes on checking the task." in checked
    past_its_bounds = text_of(client, OperationFactory(**stuck, task_id="t-2"))
    assert "The desk does not check it any more." in past_its_bounds
    no_task = text_of(client, OperationFactory(**stuck))
    assert "Nothing moves here by itself." in no_task
    assert "never said how the call ended" in no_task
    assert "has the task" not in no_task


def test_the_servers_message_stands_in_a_frame_as_its_own(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, state=State.WORKING, task_id="t-1")
    Payload.objects.filter(pk=operation.pk).update(status_message="<i>almost</i> completed")
    page = text_of(client, operation)
    assert "build-server says</span>&lt;i&gt;almost&lt;/i&gt; completed" in page
    assert "Running on build-server" in page


SECRETS = ["secret-argument", "secret-result", "secret-message"]


@pytest.fixture
def carried(server: Server) -> Operation:
    """Somebody else's operation with something in every payload."""
    operation = OperationFactory(
        server=server,
        state=State.WORKING,
        questions_to=Answerers.APPROVERS,
        arguments={"key": "secret-argument"},
    )
    Payload.objects.filter(pk=operation.pk).update(
        status_message="secret-message",
        result={"content": [{"type": "text", "text": "secret-result"}]},
    )
    return operation


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AUDITOR, Role.ADMIN])
def test_operators_auditors_and_admins_see_payloads(
    operator: Membership, carried: Operation, role: Role
) -> None:
    page = text_of(browser(role, operator.team), carried)
    assert [secret for secret in SECRETS if secret in page] == SECRETS


@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER])
@pytest.mark.parametrize("region", ["", "operation-state", "operation-facts", "operation-actions"])
def test_others_see_that_it_runs_and_nothing_it_carries(
    operator: Membership, carried: Operation, role: Role, region: str
) -> None:
    extra = {"headers": htmx(region)} if region else {}
    client = browser(role, operator.team)
    page = text_of(client, carried, **extra)
    assert not [secret for secret in SECRETS if secret in page]
    assert client.get(f"/operations/{carried.pk}/result.json").status_code == 404


def test_an_approver_sees_what_a_question_to_them_is_about(
    operator: Membership, carried: Operation
) -> None:
    ApprovalFactory(input_request=InputRequestFactory(operation=carried), audience="approvers")
    assert "secret-argument" in text_of(browser(Role.APPROVER, operator.team), carried)


def test_a_viewer_sees_their_own(operator: Membership, carried: Operation) -> None:
    viewer = MembershipFactory(team=operator.team, role=Role.VIEWER)
    Operation.objects.filter(pk=carried.pk).update(started_by=viewer.user)
    assert "secret-argument" in text_of(signed_in(viewer), carried)


@pytest.mark.parametrize("role", list(Role))
def test_another_teams_operation_does_not_exist(server: Server, role: Role) -> None:
    operation = OperationFactory(server=server)
    foreign = signed_in(MembershipFactory(role=role))
    base = f"/operations/{operation.pk}/"
    assert foreign.get(base).status_code == 404
    assert foreign.get(f"{base}result.json").status_code == 404
    assert foreign.get(base, headers=htmx("operation-state")).status_code == 404


def test_the_result_can_be_kept_as_it_came(client: Client, carried: Operation) -> None:
    response = client.get(f"/operations/{carried.pk}/result.json")
    assert response.json() == {"content": [{"type": "text", "text": "secret-result"}]}
    assert "attachment" in response["Content-Disposition"]


def test_a_deep_result_is_no_longer_than_it_came(client: Client, carried: Operation) -> None:
    deep: object = 1
    for _ in range(60):
        deep = [deep]
    Payload.objects.filter(pk=carried.pk).update(result={"content": [], "structuredContent": deep})
    assert len(client.get(f"/operations/{carried.pk}/result.json").content) < 300


def test_an_error_of_the_server_is_shown_with_code_and_words(
    client: Client, server: Server
) -> None:
    operation = OperationFactory(server=server, state=State.FAILED, finished_at=NOW)
    error = {"code": -32603, "message": "<boom>", "data": {"hint": "disk full"}}
    Payload.objects.filter(pk=operation.pk).update(error=error)
    page = text_of(client, operation)
    assert "answered with error -32603</span>&lt;boom&gt;" in page
    assert "disk full" in page


def test_open_questions_lead_to_the_inbox(client: Client, server: Server) -> None:
    approval = ApprovalFactory(input_request__operation__server=server)
    assert f'href="/inbox/{approval.pk}/"' in text_of(client, approval.operation)


def test_an_answered_question_says_who_and_how_far_the_answer_is(
    client: Client, server: Server
) -> None:
    question = InputRequestFactory(operation__server=server, state="answered")
    DeliveryFactory(
        input_request=question,
        answered_by=MembershipFactory(user__name="Pia").user,
        state="acknowledged",
    )
    assert "Pia said decline · acknowledged" in text_of(client, question.operation)


def test_notes_on_the_server_are_sentences(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server)
    Payload.objects.filter(pk=operation.pk).update(notes=["ttl_missing", "from_the_future"])
    page = text_of(client, operation)
    assert "did not say how long it keeps the task" in page
    assert "from_the_future" in page


def test_the_timeline_holds_every_event_newest_first(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server)
    for number in (1, 2):
        record(
            "call.sent",
            team_id=server.team_id,
            actor=DESK,
            now=NOW,
            operation_id=operation.pk,
            attempt=number,
            request_id=number,
            round=0,
        )
    page = text_of(client, operation)
    assert page.index("Call 2 sent") < page.index("Call 1 sent")


def test_long_arguments_are_folded_and_whole(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, arguments={"text": "x" * 5000})
    assert "x" * 5000 in text_of(client, operation)


def test_the_page_costs_the_same_for_any_number_of_questions_and_events(
    client: Client, server: Server, django_assert_max_num_queries: Any
) -> None:
    operation = OperationFactory(server=server)
    for _ in range(10):
        ApprovalFactory(input_request=InputRequestFactory(operation=operation))
    # one of them for the gate, one for the phases
    with django_assert_max_num_queries(16):
        client.get(f"/operations/{operation.pk}/")


@pytest.mark.parametrize("region", ["operation-state", "operation-facts", "operation-actions"])
def test_a_region_is_answered_alone_with_its_own_id(
    client: Client, server: Server, region: str
) -> None:
    operation = OperationFactory(server=server, state=State.UNKNOWN)
    page = text_of(client, operation, headers=htmx(region))
    assert page.startswith(f'<div id="{region}"')
    assert "<html" not in page
    assert f'data-live="operation:{operation.pk}' in page


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"paused": True}, "is paused: nothing is sent"),
        ({"unreachable_since": NOW}, "has been unreachable since 14:00:00 UTC"),
        (
            {"not_before": NOW + timedelta(hours=1), "not_before_reason": "throttled"},
            "asked to slow down until 15:00:00 UTC",
        ),
    ],
)
def test_what_holds_the_server_up_is_said_while_it_does(
    client: Client, server: Server, columns: dict[str, Any], says: str
) -> None:
    Server.objects.filter(pk=server.pk).update(**columns)
    operation = OperationFactory(server=server, state=State.WORKING)
    assert says in strip_tags(text_of(client, operation))


def test_a_pause_the_server_asked_for_is_not_mentioned_once_it_is_over(
    client: Client, server: Server
) -> None:
    Server.objects.filter(pk=server.pk).update(not_before=NOW, not_before_reason="throttled")
    operation = OperationFactory(server=server, state=State.WORKING)
    assert "slow down" not in text_of(client, operation)
