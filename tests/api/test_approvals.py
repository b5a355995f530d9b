"""Approvals through the API: read whole, decided as read, by the rules of the page."""

from typing import Any

import pytest
from django.utils import timezone

from approvals import intake
from approvals.models import Approval, ApprovalState, Vote
from mcpdesk.accounts.models import Membership, Role, Team
from mcpdesk.accounts.tokens import Scope
from mcpdesk.audit.models import Channel, Event
from tasks_monitor.models import Delivery, Operation
from tasks_monitor.states import State
from tests.api.calling import Caller, person, service
from tests.factories import (
    ApprovalFactory,
    InputRequestFactory,
    OperationFactory,
    PolicyRuleFactory,
    ServerFactory,
    TeamFactory,
    form_params,
    url_params,
)

pytestmark = pytest.mark.django_db
FIELDS = {
    "size": {"type": "integer", "minimum": 1, "maximum": 9},
    "sure": {"type": "boolean"},
    "zone": {"type": "string", "enum": ["eu", "us"]},
}
GOOD = {"size": 3, "sure": True, "zone": "eu"}


@pytest.fixture
def team() -> Team:
    return TeamFactory()


@pytest.fixture
def approver(team: Team) -> Caller:
    return person(team, Role.APPROVER)


def _gate(team: Team, **ask: Any) -> str:
    """A call of a service that waits at the gate."""
    server = ServerFactory(team=team)
    ask = {"audience": "approvers", **ask}
    PolicyRuleFactory(team=team, effect="ask", ask=ask)
    body = service(team).start(server=server.name, tool="deploy", arguments={"to": "prod"}).json()
    return str(body["waiting"][0]["id"])


def _question(team: Team, params: dict[str, Any] | None = None, **columns: Any) -> Approval:
    operation = OperationFactory(server=ServerFactory(team=team), state=State.INPUT_REQUIRED)
    request = InputRequestFactory(
        operation=operation, params=params or form_params("How large?", **FIELDS), taken_version=1
    )
    approval: Approval = ApprovalFactory(input_request=request, **{"shape": "form", **columns})
    return approval


def _decide(caller: Caller, pk: Any, choice: str, **more: Any) -> Any:
    binding = caller.get(f"/approvals/{pk}").json()["binding"]
    wanted = {"binding": binding or "none", "choice": choice, **more}
    return caller.post(f"/approvals/{pk}/decision", wanted)


def test_what_waits_for_somebody_is_listed_for_them_alone(team: Team, approver: Caller) -> None:
    gate = _gate(team)
    mine, theirs = approver.get("/approvals"), person(team, Role.AUDITOR).get("/approvals")
    assert [row["id"] for row in mine.json()["items"]] == [gate]
    assert theirs.json()["items"] == []
    everybody = service(team, name="reader").get("/approvals", tab="team").json()["items"]
    assert [(row["id"], row["started_by"]) for row in everybody] == [(gate, "deploy-bot")]


def test_a_gate_is_read_whole_and_approved(team: Team, approver: Caller) -> None:
    gate = _gate(team)
    shown = approver.get(f"/approvals/{gate}").json()
    assert shown["arguments"] == {"to": "prod"}
    assert (shown["standing"], shown["can_be_said"]) == ("your_turn", ["approve", "deny"])
    answer = _decide(approver, gate, "approve").json()
    assert (answer["final"], answer["approval"]["decision"]) == (True, "approve")
    assert Operation.objects.get().state == State.READY
    event = Event.objects.get(kind="approval.decided")
    assert (event.actor, event.channel) == (approver.token.user, Channel.API)


def test_a_gate_is_denied_with_a_reason_only(team: Team, approver: Caller) -> None:
    gate = _gate(team)
    assert _decide(approver, gate, "deny").status_code == 409
    assert _decide(approver, gate, "deny", reason="not today").json()["final"]
    assert Operation.objects.get().state == State.DENIED


def test_so_many_different_people_are_needed_here_too(team: Team, approver: Caller) -> None:
    gate = _gate(team, quorum=2)
    first = _decide(approver, gate, "approve").json()
    assert (first["final"], first["approval"]["agreed"], first["approval"]["needed"]) == (
        False,
        1,
        2,
    )
    assert _decide(approver, gate, "approve").status_code == 409
    assert Operation.objects.get().state == State.AWAITING_APPROVAL
    assert _decide(person(team, Role.APPROVER), gate, "approve").json()["final"]


def test_it_stays_agreed_to_by_as_many_when_one_of_them_has_left(
    team: Team, approver: Caller
) -> None:
    gate, second = _gate(team, quorum=2), person(team, Role.APPROVER)
    _decide(approver, gate, "approve")
    Membership.objects.filter(user=approver.token.user).update(role=Role.VIEWER)
    assert second.get(f"/approvals/{gate}").json()["agreed"] == 0
    Membership.objects.filter(user=approver.token.user).update(role=Role.APPROVER)
    assert _decide(second, gate, "approve").json()["final"]
    Membership.objects.filter(user=approver.token.user).update(role=Role.VIEWER)
    assert second.get(f"/approvals/{gate}").json()["agreed"] == 2


def test_it_says_how_many_had_agreed_when_it_closed_without_a_decision(
    team: Team, approver: Caller
) -> None:
    gate = _gate(team, quorum=2)
    _decide(approver, gate, "approve")
    operation = Operation.objects.get()
    person(team, Role.OPERATOR).post(f"/operations/{operation.pk}/cancel")
    intake.take_in(operation.pk, now=timezone.now())
    shown = approver.get(f"/approvals/{gate}").json()
    assert (shown["state"], shown["agreed"], shown["needed"]) == ("closed", 1, 2)


def test_it_says_how_many_had_agreed_when_somebody_denied_it(team: Team, approver: Caller) -> None:
    gate, second = _gate(team, quorum=3), person(team, Role.APPROVER)
    _decide(approver, gate, "approve")
    denied = _decide(second, gate, "deny", reason="not today").json()["approval"]
    assert (denied["decision"], denied["agreed"], denied["needed"]) == ("deny", 1, 3)


def test_whoever_started_it_decides_nothing_under_four_eyes(team: Team) -> None:
    starter = person(team, Role.ADMIN)
    server = ServerFactory(team=team)
    ask = {"audience": "approvers", "four_eyes": True}
    PolicyRuleFactory(team=team, effect="ask", ask=ask)
    gate = starter.start(server=server.name, tool="deploy").json()["waiting"][0]["id"]
    assert starter.get(f"/approvals/{gate}").json()["binding"] is None
    answer = _decide(starter, gate, "approve")
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:mcpdesk:problem:not-yours")
    assert not Vote.objects.exists()


def test_a_service_decides_nothing_whatever_its_row_says(team: Team) -> None:
    gate = _gate(team)
    bot = service(team, name="robber", scopes=list(Scope))
    assert bot.get(f"/approvals/{gate}").json()["binding"] is None
    assert _decide(bot, gate, "approve").status_code == 403
    assert not Vote.objects.exists()


def test_the_binding_of_somebody_else_is_refused(team: Team, approver: Caller) -> None:
    gate = _gate(team)
    binding = person(team, Role.APPROVER).get(f"/approvals/{gate}").json()["binding"]
    wanted = {"binding": binding, "choice": "approve"}
    assert approver.post(f"/approvals/{gate}/decision", wanted).status_code == 409
    assert not Vote.objects.exists()


def test_what_changed_since_it_was_read_is_not_decided(team: Team, approver: Caller) -> None:
    gate = _gate(team)
    binding = approver.get(f"/approvals/{gate}").json()["binding"]
    Approval.objects.update(version=2)
    wanted = {"binding": binding, "choice": "approve"}
    answer = approver.post(f"/approvals/{gate}/decision", wanted)
    assert (answer.status_code, "changed" in answer.json()["detail"]) == (409, True)


def test_a_form_is_answered_with_values_of_their_kind(team: Team, approver: Caller) -> None:
    asked = _question(team)
    shown = approver.get(f"/approvals/{asked.pk}").json()["question"]
    assert shown["message"] == "How large?"
    assert [field["name"] for field in shown["fields"]] == ["size", "sure", "zone"]
    assert _decide(approver, asked.pk, "accept", content=GOOD).json()["final"]
    assert Delivery.objects.get().response == {"action": "accept", "content": GOOD}


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({**GOOD, "size": 10}, "size"),
        ({**GOOD, "size": "3"}, "size"),
        ({**GOOD, "size": 3.5}, "size"),
        ({**GOOD, "size": None}, "size"),
        ({**GOOD, "sure": "on"}, "sure"),
        ({**GOOD, "zone": "mars"}, "zone"),
        ({**GOOD, "zone": {"a": []}}, "zone"),
        ({**GOOD, "colour": "red"}, "colour"),
        ({"size": 3, "zone": "eu"}, "sure"),
    ],
)
def test_what_a_form_would_not_send_just_so_is_refused(
    team: Team, approver: Caller, content: dict[str, Any], wrong: str
) -> None:
    asked = _question(team)
    answer = _decide(approver, asked.pk, "accept", content=content)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [f"content.{wrong}"]
    assert not Delivery.objects.exists()


def test_a_secret_takes_a_word_more(team: Team, approver: Caller) -> None:
    asked = _question(team, form_params("Who are you?", password={"type": "string"}))
    content = {"password": "hunter2"}
    assert approver.get(f"/approvals/{asked.pk}").json()["question"]["fields"][0]["secret"]
    assert _decide(approver, asked.pk, "accept", content=content).status_code == 409
    answer = _decide(approver, asked.pk, "accept", content=content, gives_secrets=True)
    assert answer.json()["final"]
    assert "hunter2" not in answer.content.decode()


def test_a_link_is_shown_whole_and_declined(team: Team, approver: Caller) -> None:
    params = url_params("https://accounts.example/a?b=c", "Sign in")
    asked = _question(team, params, shape="link")
    assert approver.get(f"/approvals/{asked.pk}").json()["question"]["link"] == (
        "https://accounts.example/a?b=c"
    )
    assert _decide(approver, asked.pk, "decline").json()["approval"]["decision"] == "decline"


def test_the_same_word_once_more_changes_nothing(team: Team, approver: Caller) -> None:
    gate = _gate(team)
    wanted = {
        "binding": approver.get(f"/approvals/{gate}").json()["binding"],
        "choice": "approve",
    }
    answers = [approver.post(f"/approvals/{gate}/decision", wanted) for _ in range(2)]
    assert [answer.json()["final"] for answer in answers] == [True, True]
    other = approver.post(f"/approvals/{gate}/decision", {**wanted, "choice": "deny"})
    assert other.status_code == 409
    assert Event.objects.filter(kind="approval.decided").count() == 1


def test_who_comes_second_is_told_who_was_first(team: Team, approver: Caller) -> None:
    gate, second = _gate(team), person(team, Role.APPROVER)
    wanted = {"binding": second.get(f"/approvals/{gate}").json()["binding"], "choice": "approve"}
    _decide(approver, gate, "approve")
    answer = second.post(f"/approvals/{gate}/decision", wanted)
    assert answer.status_code == 409
    assert str(approver.token.user) in answer.json()["detail"]


@pytest.mark.parametrize("choice", ["accept", "decline", "nothing"])
def test_a_gate_takes_only_its_own_words(team: Team, approver: Caller, choice: str) -> None:
    assert _decide(approver, _gate(team), choice).status_code == 422
    assert not Vote.objects.exists()


def test_whoever_may_not_read_it_reads_no_more_than_on_the_page(team: Team) -> None:
    asked = _question(team)
    body = person(team, Role.VIEWER).get(f"/approvals/{asked.pk}").json()
    assert (body["payload_visible"], body["question"], body["arguments"]) == (False, None, None)
    assert body["standing"] == "not_put_to_you"
    assert person(TeamFactory(), Role.ADMIN).get(f"/approvals/{asked.pk}").status_code == 404


def test_what_is_over_is_listed_apart(team: Team, approver: Caller) -> None:
    asked = _question(team)
    _decide(approver, asked.pk, "decline")
    assert approver.get("/approvals").json()["items"] == []
    decided = approver.get("/approvals", tab="decided").json()["items"]
    assert [(row["id"], row["state"]) for row in decided] == [
        (str(asked.pk), ApprovalState.DECIDED)
    ]


def test_the_history_of_approvals_is_narrowed_as_its_page_is(team: Team, approver: Caller) -> None:
    asked, other = _question(team), _question(team)
    _decide(approver, asked.pk, "decline")
    reader = person(team, Role.VIEWER)
    everything = reader.get("/approvals/history").json()["items"]
    assert {row["id"] for row in everything} == {str(asked.pk), str(other.pk)}
    declined = reader.get("/approvals/history", decision="decline").json()["items"]
    assert [row["id"] for row in declined] == [str(asked.pk)]
    assert reader.get("/approvals/history", decision="perhaps").status_code == 422


def test_the_list_costs_the_same_however_long_it_is(
    team: Team, approver: Caller, django_assert_max_num_queries: Any
) -> None:
    for _ in range(20):
        _question(team)
    approver.get("/me")
    with django_assert_max_num_queries(8):
        assert len(approver.get("/approvals").json()["items"]) == 20
