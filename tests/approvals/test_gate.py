"""The one way to start: what the policy says, and what stands in the database afterwards."""

import ast
from datetime import timedelta
from typing import Any

import pytest

from approvals import policy
from approvals.gate import Disabled, Requested, questions_of, snapshot_of
from approvals.models import Approval, Audience, Kind, PolicyRule
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit.models import Event
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Operation, Tool
from tasks_monitor.states import State
from tests.approvals.conftest import Join
from tests.approvals.gates import a_gate, request, rule
from tests.conftest import CHECKOUT
from tests.factories import NOW, PolicyRuleFactory, ServerFactory

pytestmark = pytest.mark.django_db


def test_allowed_it_is_ready_and_there_is_no_item(operator: Member) -> None:
    rule(operator.team, "allow")
    made = request(operator)
    assert made.operation.state == State.READY
    assert made.approval is None
    assert not Approval.objects.exists()


def test_asked_it_waits_with_its_gate_and_nothing_is_due(operator: Member) -> None:
    ask = {"quorum": 2, "deadline_s": 3600, "at_deadline": "deny"}
    approval = a_gate(operator, ask)
    operation = approval.operation
    assert (operation.state, operation.due_at) == (State.AWAITING_APPROVAL, None)
    assert (approval.kind, approval.audience) == (Kind.GATE, Audience.APPROVERS)
    assert (approval.four_eyes, approval.deadline_at) == (True, NOW + timedelta(hours=1))
    snapshot = snapshot_of(approval)
    assert (snapshot.ask.quorum, snapshot.requesters) == (2, {operator.user_id})


def test_a_team_without_rules_asks_one_approver_who_did_not_start_it(operator: Member) -> None:
    made = request(operator)
    assert made.approval is not None
    assert snapshot_of(made.approval).ask == policy.DEFAULT_ASK


def test_disabled_nothing_is_made_but_the_event(operator: Member) -> None:
    disabled = rule(operator.team, "disabled", tool="deploy*")
    outcome = request(operator)
    assert isinstance(outcome, Disabled)
    assert disabled.name in outcome.sentence
    assert not Operation.objects.exists()
    event = Event.objects.get()
    assert (event.kind, event.actor, event.data["rule"]) == (
        "gate.refused",
        operator.user,
        disabled.name,
    )


def test_a_rule_that_fails_asks_and_the_log_tells_the_admins(operator: Member) -> None:
    broken = rule(operator.team, "allow", arguments=[{"path": "a", "op": "near", "value": 1}])
    made = request(operator)
    assert made.operation.state == State.AWAITING_APPROVAL
    assert Event.objects.get(kind="gate.rule_failed").data["rule"] == broken.name


@pytest.mark.parametrize("match", [7, ["*"], {"effect": "allow"}, {"tool": "*", "also": 1}])
def test_a_stored_rule_that_says_something_odd_never_allows(operator: Member, match: Any) -> None:
    PolicyRuleFactory(team=operator.team, effect="ask", match=match)
    rule(operator.team, "allow")
    assert request(operator).operation.state == State.AWAITING_APPROVAL


def test_the_rules_are_read_in_order_and_those_switched_off_are_not(operator: Member) -> None:
    first = rule(operator.team, "allow")
    rule(operator.team, "disabled")
    assert isinstance(request(operator), Requested)
    PolicyRule.objects.filter(pk=first.pk).update(enabled=False)
    assert isinstance(request(operator), Disabled)


def test_rules_of_another_team_say_nothing_here(operator: Member) -> None:
    rule(ServerFactory().team, "allow")
    assert request(operator).operation.state == State.AWAITING_APPROVAL


def test_the_starters_role_of_now_and_the_servers_claims_are_what_is_matched(
    operator: Member, join: Join
) -> None:
    server = ServerFactory(team=operator.team)
    definition = {"name": "report", "annotations": {"readOnlyHint": True}}
    Tool.objects.create(server=server, name="report", definition=definition)
    starter = {"kind": "role", "roles": ["operator"]}
    rule(operator.team, "allow", starter=starter, claims={"readOnlyHint": True})
    call: dict[str, Any] = {"server": server, "tool": "report"}
    assert request(operator, **call).operation.state == State.READY
    assert request(join(Role.ADMIN), **call).operation.state == State.AWAITING_APPROVAL
    assert request(operator, server=server).operation.state == State.AWAITING_APPROVAL


def test_the_same_request_again_returns_its_operation_whatever_the_policy_says_today(
    operator: Member,
) -> None:
    server = ServerFactory(team=operator.team)
    first = request(operator, server=server, idempotency_key="k")
    rule(operator.team, "disabled")
    again = request(operator, server=server, idempotency_key="k")
    assert (again.operation, again.created) == (first.operation, False)
    assert Approval.objects.count() == Operation.objects.count() == 1
    with pytest.raises(Refused, match="different request"):
        request(operator, {"project": "other"}, server=server, idempotency_key="k")


def test_changing_or_removing_a_rule_never_changes_a_gate_that_exists(operator: Member) -> None:
    approval = a_gate(operator, {"quorum": 2})
    PolicyRule.objects.all().delete()
    rule(operator.team, "allow")
    approval.refresh_from_db()
    assert snapshot_of(approval).ask.quorum == 2


def test_a_crash_between_the_operation_and_its_gate_leaves_neither(
    operator: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr("approvals.gate._open", crash)
    with pytest.raises(ConnectionError):
        request(operator)
    assert not Operation.objects.exists()
    assert not Event.objects.exists()


def test_the_log_holds_no_argument(operator: Member) -> None:
    a_gate(operator, arguments={"secret": "SECRET-WORD"})
    assert not any("SECRET-WORD" in str(event.data) for event in Event.objects.all())


def test_only_the_gate_starts_operations() -> None:
    """A page, a command or an API that called the engine itself would be a way around."""
    callers = []
    for folder in ("mcpdesk", "approvals", "tasks_monitor"):
        for path in (CHECKOUT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module == "tasks_monitor.engine.start":
                    names = {alias.name for alias in node.names}
                    callers += [path.name] if "start" in names else []
                if isinstance(node, ast.ImportFrom) and node.module == "tasks_monitor.engine":
                    names = {alias.name for alias in node.names}
                    callers += [path.name] if "start" in names else []
    assert callers == ["gate.py"]


# --- who answers what the server asks


def _operation(member: Member, **more: Any) -> Operation:
    made: Operation = request(member, **more).operation
    return made


def test_the_rule_that_covers_the_call_says_who_answers(operator: Member) -> None:
    asks = {"audience": "admins", "quorum": 2, "deadline_s": 3600}
    PolicyRuleFactory(team=operator.team, name="allowed", questions=asks)
    kept = questions_of(_operation(operator), NOW)
    assert kept == {
        "rule": "allowed",
        "number": 1,
        "failed": False,
        "ask": policy.read_questions(asks).as_json(),
    }


def test_where_no_rule_speaks_of_questions_nothing_is_kept(operator: Member) -> None:
    operation = _operation(operator)
    assert questions_of(operation, NOW) is None
    rule(operator.team, "allow")
    assert questions_of(operation, NOW) is None


def test_whoever_started_it_answers_only_while_they_may(operator: Member) -> None:
    PolicyRuleFactory(team=operator.team, questions={"audience": "requester"})
    operation = _operation(operator)

    def audience() -> str:
        kept = questions_of(Operation.objects.get(pk=operation.pk), NOW)
        return str(kept and kept["ask"]["audience"])

    assert audience() == "requester"
    operation.team.memberships.update(role=Role.VIEWER)
    assert audience() == "approvers"
    Operation.objects.update(started_by=None)
    assert audience() == "approvers"


def test_a_rule_that_fails_puts_questions_to_others_and_the_admins_are_told(
    operator: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = _operation(operator)
    PolicyRuleFactory(team=operator.team, name="broken", questions={"audience": "everybody"})
    told: list[Any] = []
    monkeypatch.setattr("approvals.notices.rule_failed", lambda *what: told.append(what))
    kept = questions_of(operation, NOW)
    assert kept is not None
    assert (kept["failed"], kept["ask"]) == (True, policy.DEFAULT_ASK.as_json())
    assert Event.objects.get(kind="gate.rule_failed").operation_id == operation.pk
    assert [(team, name) for team, name, *_ in told] == [(operator.team_id, "broken")]


def test_a_rule_that_fails_at_the_start_is_told_to_the_admins_once(
    operator: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr("approvals.notices.rule_failed", lambda *what: told.append(what))
    request(operator)
    assert told == []
    broken = rule(operator.team, "allow", arguments=[{"path": "a", "op": "near", "value": 1}])
    request(operator)
    assert [(team, name, now) for team, name, _, now in told] == [
        (operator.team_id, broken.name, NOW)
    ]


def test_the_item_keeps_the_steps_and_whether_it_may_be_remembered(operator: Member) -> None:
    steps = [{"after_s": 3600, "audience": "admins", "people": []}]
    approval = a_gate(operator, {"escalation": steps, "remember": True})
    PolicyRule.objects.all().delete()
    ask = snapshot_of(approval).ask
    assert (ask.remember, [step.after_s for step in ask.escalation]) == (True, [3600])


def test_a_gate_that_nobody_could_decide_is_told_as_soon_as_it_is_made(operator: Member) -> None:
    approval = a_gate(operator, {"audience": "admins"})
    assert approval.nobody_since == NOW
    assert Event.objects.get(kind="approval.nobody_left").approval_id == approval.pk
