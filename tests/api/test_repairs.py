"""Repairs through the API: read with what each choice does, carried out as read."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from approvals.models import Approval
from mcpdesk.accounts.models import Role, Team
from mcpdesk.accounts.tokens import Scope
from mcpdesk.audit.models import Channel, Event
from tasks_monitor.models import Operation, Repair, RepairState, hash_task_id
from tasks_monitor.states import State
from tests.api.calling import Caller, person, service
from tests.factories import (
    AttemptFactory,
    OperationFactory,
    PolicyRuleFactory,
    ServerFactory,
    TeamFactory,
)

pytestmark = pytest.mark.django_db

PROBLEM = "urn:mcpdesk:problem:"
FAILED = {"choice": "record_failed", "reason": "nothing arrived there"}
AGAIN = {"choice": "send_again", "reason": "it cannot have arrived"}


@pytest.fixture
def team() -> Team:
    return TeamFactory()


@pytest.fixture
def operator(team: Team) -> Caller:
    return person(team, Role.OPERATOR)


@pytest.fixture
def broken(team: Team) -> Operation:
    made: Operation = OperationFactory(server=ServerFactory(team=team), state=State.UNKNOWN)
    AttemptFactory(operation=made, number=1, outcome="unknown", problem="No answer in 60 s.")
    return made


def _read(caller: Caller, operation: Operation) -> Any:
    answer = caller.get(f"/operations/{operation.pk}/repair")
    assert answer.status_code == 200, answer.content
    return answer.json()


def _repair(caller: Caller, operation: Operation, **wish: Any) -> Any:
    """As it is read now."""
    seen = wish.pop("seen", None) or _read(caller, operation)["seen"]
    return caller.post(f"/operations/{operation.pk}/repair", {"seen": seen, **wish})


def _on(caller: Caller, operation: Operation, verb: str, **said: Any) -> Any:
    about = _read(caller, operation)
    path = f"/operations/{operation.pk}/repair/{about['proposed']['id']}/{verb}"
    return caller.post(path, {"seen": about["seen"], **said})


def _deny(caller: Caller, item: Approval) -> None:
    binding = caller.get(f"/approvals/{item.pk}").json()["binding"]
    said = {"binding": binding, "choice": "deny", "reason": "not today"}
    assert caller.post(f"/approvals/{item.pk}/decision", said).status_code == 200


def _state(operation: Operation) -> str:
    return Operation.objects.get(pk=operation.pk).state


def _kind(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].removeprefix(PROBLEM)


def _two(team: Team) -> None:
    PolicyRuleFactory(team=team, repairs_need_two=True)


def test_it_is_read_what_is_known_what_is_not_and_what_each_choice_does(
    operator: Caller, broken: Operation
) -> None:
    about = _read(operator, broken)
    assert (about["broken"], about["needs_two"], about["proposed"]) == (True, False, None)
    assert about["known"][0]["more"] == "No answer in 60 s."
    assert "may have been done" in about["not_known"]
    choices = {one["choice"]: one for one in about["choices"]}
    assert "happens twice" in choices["send_again"]["consequence"]
    assert choices["send_again"]["gate"].startswith("The policy asks first")
    assert {name: one["needs"] for name, one in choices.items()} == {
        "send_again": "",
        "attach_task": "task_id",
        "record_done": "evidence",
        "record_failed": "",
    }


def test_it_is_recorded_as_failed_by_the_person_through_the_api(
    operator: Caller, broken: Operation
) -> None:
    answer = _repair(operator, broken, **FAILED).json()
    assert (answer["came_to"], answer["repairs"]["broken"]) == ("done", False)
    assert answer["repairs"]["past"][0]["reason"] == FAILED["reason"]
    assert answer["repairs"]["choices"] == []
    assert _state(broken) == State.FAILED
    event = Event.objects.get(kind="operation.reconciled")
    assert (event.actor, event.channel) == (operator.token.user, Channel.API)


def test_recording_it_as_done_needs_what_shows_it(operator: Caller, broken: Operation) -> None:
    done = {"choice": "record_done", "reason": "looked"}
    assert _kind(_repair(operator, broken, **done)) == (422, "refused")
    assert _repair(operator, broken, **done, evidence="release 43 is up").status_code == 200
    assert _state(broken) == State.COMPLETED


def test_a_task_is_attached_and_its_id_is_not_told_again(
    operator: Caller, broken: Operation
) -> None:
    wish = {"choice": "attach_task", "reason": "found it"}
    assert _kind(_repair(operator, broken, **wish)) == (422, "refused")
    answer = _repair(operator, broken, **wish, task_id="t-77")
    assert "t-77" not in answer.content.decode()
    found = Operation.objects.get(pk=broken.pk)
    assert (found.state, found.task_hash) == (State.WORKING, hash_task_id("t-77"))


def test_sent_again_it_waits_at_the_gate_for_somebody_else(team: Team, broken: Operation) -> None:
    admin = person(team, Role.ADMIN)
    assert _repair(admin, broken, **AGAIN).json()["came_to"] == "waits_for_approval"
    gate = Approval.objects.get()
    assert admin.get(f"/approvals/{gate.pk}").json()["standing"] == "you_started"
    other = person(team, Role.APPROVER)
    assert other.get(f"/approvals/{gate.pk}").json()["standing"] == "your_turn"


def test_of_what_was_sent_again_it_says_as_the_page_does_what_came_of_it_at_the_gate(
    team: Team, operator: Caller, broken: Operation
) -> None:
    repairs = _repair(operator, broken, **AGAIN).json()["repairs"]
    assert repairs["past"][0]["at_the_gate"] == "It went to the gate, and waits there."
    approver = person(team, Role.APPROVER)
    _deny(approver, Approval.objects.get())
    _repair(operator, broken, **FAILED)
    failed, again = _read(operator, broken)["past"]
    assert failed["at_the_gate"] == ""
    denied = f"It went to the gate: denied by {approver.token.user}. It was not sent again."
    assert again["at_the_gate"] == denied
    browser = Client()
    browser.force_login(operator.token.user)
    page = browser.get(reverse("operation_reconcile", args=[broken.pk])).content.decode()
    assert escape(denied) in page


def test_what_the_policy_disables_is_not_sent_again(
    team: Team, operator: Caller, broken: Operation
) -> None:
    PolicyRuleFactory(team=team, effect="disabled")
    choices = {one["choice"]: one for one in _read(operator, broken)["choices"]}
    assert "disables" in choices["send_again"]["why_not"]
    assert _kind(_repair(operator, broken, **AGAIN)) == (422, "refused")
    assert _state(broken) == State.UNKNOWN


def _another_attempt(broken: Operation) -> None:
    """Somebody sent it again, and it broke once more."""
    broken.history.state_since = broken.history.state_since.replace(year=2099)
    broken.history.save()


def _two_are_needed(broken: Operation) -> None:
    _two(broken.team)


def _it_runs_without_being_asked(broken: Operation) -> None:
    PolicyRuleFactory(team=broken.team, effect="allow")


@pytest.mark.parametrize(
    "change", [_another_attempt, _two_are_needed, _it_runs_without_being_asked]
)
def test_what_is_otherwise_than_it_was_read_is_not_decided(
    operator: Caller, broken: Operation, change: Any
) -> None:
    seen = _read(operator, broken)["seen"]
    change(broken)
    assert _kind(_repair(operator, broken, seen=seen, **AGAIN)) == (409, "decided")
    assert (_state(broken), Repair.objects.count()) == (State.UNKNOWN, 0)


def test_it_is_repaired_once(operator: Caller, broken: Operation) -> None:
    seen = _read(operator, broken)["seen"]
    assert _repair(operator, broken, seen=seen, **FAILED).status_code == 200
    assert _kind(_repair(operator, broken, seen=seen, **FAILED)) == (409, "decided")
    assert Repair.objects.count() == 1


def test_nothing_is_said_without_what_was_seen(operator: Caller, broken: Operation) -> None:
    answer = operator.post(f"/operations/{broken.pk}/repair", FAILED)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["seen"]


def test_where_two_are_needed_the_second_one_has_it_carried_out(
    team: Team, operator: Caller, broken: Operation
) -> None:
    _two(team)
    answer = _repair(operator, broken, **FAILED).json()
    assert (answer["came_to"], _state(broken)) == ("proposed", State.UNKNOWN)
    assert answer["repairs"]["proposed"]["yours"] is True
    assert _kind(_on(operator, broken, "agree")) == (403, "not-yours")
    assert _kind(_on(operator, broken, "refuse", reason="no")) == (403, "not-yours")
    other = person(team, Role.ADMIN)
    assert _kind(_on(other, broken, "take-back")) == (403, "not-yours")
    assert _read(other, broken)["proposed"]["reason"] == FAILED["reason"]
    assert _on(other, broken, "agree").json()["came_to"] == "done"
    assert _state(broken) == State.FAILED


def test_a_proposal_is_refused_with_a_reason_or_taken_back(
    team: Team, operator: Caller, broken: Operation
) -> None:
    _two(team)
    _repair(operator, broken, **FAILED)
    other = person(team, Role.OPERATOR)
    assert _on(other, broken, "refuse", reason="").status_code == 422
    refused = _on(other, broken, "refuse", reason="it is there").json()
    assert refused["repairs"]["past"][0]["refused_because"] == "it is there"
    _repair(operator, broken, **FAILED)
    assert _on(operator, broken, "take-back").json()["came_to"] == "taken_back"
    assert list(Repair.objects.values_list("state", flat=True)) == [
        RepairState.REFUSED,
        RepairState.WITHDRAWN,
    ]
    assert _state(broken) == State.UNKNOWN


def test_a_proposal_that_somebody_decided_meanwhile_is_a_conflict(
    team: Team, operator: Caller, broken: Operation
) -> None:
    _two(team)
    _repair(operator, broken, **FAILED)
    other = person(team, Role.ADMIN)
    about = _read(other, broken)
    path = f"/operations/{broken.pk}/repair/{about['proposed']['id']}"
    _on(operator, broken, "take-back")
    answer = other.post(f"{path}/agree", {"seen": about["seen"]})
    assert _kind(answer) == (409, "decided")


def test_a_proposal_of_another_operation_is_none_of_this_one(
    team: Team, operator: Caller, broken: Operation
) -> None:
    _two(team)
    _repair(operator, broken, **FAILED)
    other, another = person(team, Role.ADMIN), OperationFactory(server=broken.server)
    about = _read(other, broken)
    path = f"/operations/{another.pk}/repair/{about['proposed']['id']}/agree"
    assert other.post(path, {"seen": about["seen"]}).status_code == 404


def test_a_token_without_the_scope_repairs_nothing(team: Team, broken: Operation) -> None:
    rest = [scope for scope in Scope if scope is not Scope.REPAIR]
    caller = person(team, Role.ADMIN, scopes=rest)
    assert _kind(caller.get(f"/operations/{broken.pk}/repair")) == (403, "scope")


def test_a_service_repairs_nothing_whatever_its_row_says(
    team: Team, operator: Caller, broken: Operation
) -> None:
    robot = service(team, scopes=list(Scope))
    seen = _read(operator, broken)["seen"]
    assert _kind(robot.get(f"/operations/{broken.pk}/repair")) == (403, "scope")
    assert _kind(_repair(robot, broken, seen=seen, **FAILED)) == (403, "scope")
    assert _state(broken) == State.UNKNOWN
