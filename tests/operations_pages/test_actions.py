"""What people do on an operation's page: cancel, check now, reconcile, adopt."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.models import Event
from tasks_monitor.models import Operation, Repair, Server, hash_task_id
from tasks_monitor.states import State
from tests.factories import (
    NOW,
    AttemptFactory,
    MembershipFactory,
    OperationFactory,
    PolicyRuleFactory,
    ServerFactory,
)
from tests.web.browsing import browser, signed_in

pytestmark = pytest.mark.django_db

MAY = {Role.OPERATOR, Role.ADMIN}
GONE = {"choice": "record_failed", "reason": "Looked on the server: nothing there."}


@pytest.fixture
def client(operator: Membership) -> Client:
    return signed_in(operator)


@pytest.fixture
def running(server: Server) -> Operation:
    return OperationFactory(
        server=server, state=State.WORKING, task_id="t-1", due_at=NOW + timedelta(days=9999)
    )


def said(client: Client, operation: Operation) -> str:
    return client.get(f"/operations/{operation.pk}/").content.decode()


def test_asking_to_cancel_is_recorded_and_the_state_stays(
    client: Client, running: Operation, operator: Membership
) -> None:
    client.post(f"/operations/{running.pk}/cancel/")
    running.refresh_from_db()
    assert running.state == State.WORKING
    assert running.cancel_requested_by == operator.user
    page = said(client, running)
    assert "Oskar asked to cancel" in page
    assert "Ask to cancel</button>" not in page


def test_what_has_not_been_sent_is_cancelled_at_once(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, state=State.READY)
    client.post(f"/operations/{operation.pk}/cancel/")
    operation.refresh_from_db()
    assert operation.state == State.CANCELLED


def test_cancelling_what_has_ended_is_refused_with_a_sentence(
    client: Client, server: Server
) -> None:
    operation = OperationFactory(server=server, state=State.COMPLETED, finished_at=NOW)
    client.post(f"/operations/{operation.pk}/cancel/")
    assert "The operation has ended: completed." in said(client, operation)
    assert not Event.objects.exists()


def test_check_now_brings_the_next_look_forward(client: Client, running: Operation) -> None:
    before = running.due_at
    client.post(f"/operations/{running.pk}/check/")
    running.refresh_from_db()
    assert before is not None
    assert running.due_at is not None
    assert running.due_at < before


def test_without_a_task_there_is_nothing_to_check(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server)
    assert "Check now" not in said(client, operation)
    client.post(f"/operations/{operation.pk}/check/")
    assert "There is no task to check." in said(client, operation)


@pytest.mark.parametrize("state", [State.LOST, State.UNKNOWN, State.STUCK])
def test_recording_it_as_failed_ends_it_and_keeps_the_reason(
    client: Client, server: Server, state: State
) -> None:
    operation = OperationFactory(server=server, state=state)
    client.post(f"/operations/{operation.pk}/reconcile/", GONE)
    operation.refresh_from_db()
    assert operation.state == State.FAILED
    assert "Looked on the server" in operation.explanation
    assert "Looked on the server" not in str(list(Event.objects.values_list("data", flat=True)))


def test_sending_again_makes_it_ready(client: Client, server: Server) -> None:
    PolicyRuleFactory(team=server.team)
    operation = OperationFactory(server=server, state=State.UNKNOWN)
    data = {"choice": "send_again", "reason": "It cannot have arrived"}
    client.post(f"/operations/{operation.pk}/reconcile/", data)
    operation.refresh_from_db()
    assert operation.state == State.READY
    assert "It cannot have arrived" in said(client, operation)


def test_attaching_a_task_follows_it_from_there(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, state=State.UNKNOWN)
    data = {"choice": "attach_task", "reason": "Found it", "task_id": " t-77 "}
    client.post(f"/operations/{operation.pk}/reconcile/", data)
    operation.refresh_from_db()
    assert (operation.state, operation.task_hash) == (State.WORKING, hash_task_id("t-77"))
    assert "t-77" not in said(client, operation)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"choice": "record_failed", "reason": " "}, "Say why: it is kept"),
        ({"choice": "record_done", "reason": "because"}, "Say what shows that it was done."),
        ({"reason": "because"}, "Choose what is to happen."),
        ({"choice": "explode", "reason": "because"}, "Select a valid choice"),
        ({"choice": "attach_task", "reason": "because"}, "Its id is needed"),
    ],
)
def test_a_mistake_is_told_beside_what_was_typed_and_nothing_happens(
    client: Client, server: Server, data: dict[str, str], says: str
) -> None:
    operation = OperationFactory(server=server, state=State.LOST)
    response = client.post(f"/operations/{operation.pk}/reconcile/", data)
    assert response.status_code == 422
    assert says in response.content.decode()
    assert data["reason"].strip() in response.content.decode()
    operation.refresh_from_db()
    assert operation.state == State.LOST
    assert not Event.objects.exists()


@pytest.mark.parametrize("state", [State.WORKING, State.COMPLETED])
def test_what_the_desk_can_follow_is_not_reconciled(
    client: Client, server: Server, state: State
) -> None:
    ends = {"finished_at": NOW} if state == State.COMPLETED else {}
    operation = OperationFactory(server=server, state=state, **ends)
    response = client.post(f"/operations/{operation.pk}/reconcile/", GONE)
    assert response.status_code == 422
    assert GONE["reason"] in response.content.decode()
    page = client.get(f"/operations/{operation.pk}/reconcile/").content.decode()
    assert "There is nothing to repair" in page
    assert '<form class="card' not in page
    assert "/reconcile/" not in said(client, operation)


def test_the_page_says_what_is_known_and_what_every_choice_does(
    client: Client, server: Server
) -> None:
    operation = OperationFactory(server=server, state=State.UNKNOWN)
    AttemptFactory(operation=operation, number=1, outcome="unknown", problem="No answer in 60 s.")
    page = client.get(f"/operations/{operation.pk}/reconcile/").content.decode()
    assert "Call 1 left this desk, and no usable answer came back." in page
    assert "No answer in 60 s." in page
    assert "it may have been done, done in part, or never arrived" in page
    assert "its effect happens twice" in page
    assert "The policy asks first" in page
    assert f"/operations/{operation.pk}/reconcile/" in said(client, operation)


def test_a_second_person_reads_the_proposal_and_carries_it_out(
    client: Client, server: Server, operator: Membership
) -> None:
    PolicyRuleFactory(team=server.team, repairs_need_two=True)
    operation = OperationFactory(server=server, state=State.LOST)
    address = f"/operations/{operation.pk}/reconcile/"
    assert "The policy asks for two people" in client.get(address).content.decode()
    client.post(address, GONE)
    repair = Repair.objects.get()
    mine = client.get(address).content.decode()
    assert "somebody else has to agree" in mine
    assert "Agree, and carry it out" not in mine
    other = browser(Role.ADMIN, operator.team)
    theirs = other.get(address).content.decode()
    assert "Looked on the server: nothing there." in theirs
    assert client.post(f"{address}{repair.pk}/agree/")["Location"] == address
    assert other.post(f"{address}{repair.pk}/agree/")["Location"] == f"/operations/{operation.pk}/"
    operation.refresh_from_db()
    assert operation.state == State.FAILED
    assert "agreed." in client.get(address).content.decode()


def test_a_proposal_is_not_decided_under_another_operations_address(
    client: Client, server: Server, operator: Membership
) -> None:
    PolicyRuleFactory(team=server.team, repairs_need_two=True)
    one, another = (OperationFactory(server=server, state=State.LOST) for _ in range(2))
    client.post(f"/operations/{one.pk}/reconcile/", GONE)
    repair = Repair.objects.get()
    other = browser(Role.ADMIN, operator.team)
    address = f"/operations/{another.pk}/reconcile/{repair.pk}/agree/"
    assert other.post(address).status_code == 404


def test_an_adopted_operation_offers_no_call_to_send_again(client: Client, server: Server) -> None:
    operation = OperationFactory(server=server, state=State.LOST, adopted=True, task_id="t")
    page = client.get(f"/operations/{operation.pk}/reconcile/").content.decode()
    assert "Attach a task id" in page
    assert "the desk has none to send" in page
    again = {"choice": "send_again", "reason": "because"}
    refused = client.post(f"/operations/{operation.pk}/reconcile/", again)
    assert "no call to send" in refused.content.decode()


@pytest.mark.parametrize("verb", ["cancel", "check", "reconcile"])
@pytest.mark.parametrize("role", list(Role))
def test_only_operators_and_admins_act(
    operator: Membership, running: Operation, verb: str, role: Role
) -> None:
    client = browser(role, operator.team)
    assert ("Ask to cancel" in said(client, running)) is (role in MAY)
    response = client.post(f"/operations/{running.pk}/{verb}/", GONE)
    assert (response.status_code == 403) is (role not in MAY)
    assert Event.objects.exists() is (role in MAY and verb != "reconcile")


@pytest.mark.parametrize("verb", ["cancel", "check", "reconcile"])
def test_another_teams_operation_cannot_be_acted_on(running: Operation, verb: str) -> None:
    foreign = signed_in(MembershipFactory(role=Role.ADMIN))
    assert foreign.post(f"/operations/{running.pk}/{verb}/", GONE).status_code == 404
    assert not Event.objects.exists()


@pytest.mark.parametrize("verb", ["cancel", "check"])
def test_reading_an_address_of_an_action_does_nothing(
    client: Client, running: Operation, verb: str
) -> None:
    assert client.get(f"/operations/{running.pk}/{verb}/").status_code == 405


def adoption(server: Server, **changes: Any) -> dict[str, Any]:
    data = {"server": server.pk, "tool_name": "deploy", "task_id": " t-9 "}
    return {**data, "questions_to": "requester", "reason": "from the old script", **changes}


def test_an_adopted_task_is_followed_and_its_id_is_not_shown(
    client: Client, server: Server, operator: Membership
) -> None:
    response = client.post("/operations/adopt/", adoption(server))
    operation = Operation.objects.get()
    assert response["Location"] == f"/operations/{operation.pk}/"
    # what is copied from a log brings spaces along, and with them no server knows the task
    assert operation.task_id == "t-9"
    assert (operation.adopted, operation.started_by) == (True, operator.user)
    page = said(client, operation)
    assert "t-9" not in page
    assert "Put under the desk's care by Oskar" in page


def test_adopting_the_same_task_again_leads_to_the_one_that_is_followed(
    client: Client, server: Server
) -> None:
    client.post("/operations/adopt/", adoption(server))
    response = client.post("/operations/adopt/", adoption(server))
    assert response["Location"] == f"/operations/{Operation.objects.get().pk}/"


def test_a_foreign_server_cannot_be_chosen(client: Client) -> None:
    response = client.post("/operations/adopt/", adoption(ServerFactory()))
    assert response.status_code == 422
    assert not Operation.objects.exists()


@pytest.mark.parametrize("role", list(Role))
def test_only_operators_and_admins_adopt(operator: Membership, server: Server, role: Role) -> None:
    response = browser(role, operator.team).post("/operations/adopt/", adoption(server))
    assert (response.status_code == 302) is (role in MAY)
    assert Operation.objects.exists() is (role in MAY)


def test_a_task_that_is_followed_already_is_refused_at_its_field_with_a_link(
    client: Client, server: Server, running: Operation
) -> None:
    operation = OperationFactory(server=server, state=State.LOST, task_id="t-0")
    path = f"/operations/{operation.pk}/reconcile/"
    asked = client.get(path).content.decode()
    assert "The id is not checked first" in asked
    assert asked.count("The task that it has now is") == 2
    wish = {"choice": "attach_task", "task_id": "t-1", "reason": "found it"}
    answer = client.post(path, wish)
    assert answer.status_code == 422
    link = f'<a href="/operations/{running.pk}/">deploy_project</a>'
    at_the_field = answer.content.decode().partition('id="id_task_id_error">')[2]
    assert at_the_field.startswith(
        "Another operation of this desk follows that task. It is " + link
    )


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"choice": "send_again"}, "The call is sent again."),
        ({"choice": "attach_task", "task_id": "t-9"}, "Attached: it is checked now."),
        ({"choice": "record_done", "evidence": "it is up"}, "Recorded as done."),
        ({"choice": "record_failed"}, "Recorded as failed."),
    ],
)
def test_what_was_done_is_said(
    client: Client, server: Server, wish: dict[str, str], words: str
) -> None:
    PolicyRuleFactory(team=server.team, effect="allow")
    operation = OperationFactory(server=server, state=State.UNKNOWN)
    client.post(f"/operations/{operation.pk}/reconcile/", {**wish, "reason": "I looked"})
    assert words in said(client, operation)
