"""Who answers what a server asks: by the rule that speaks of it, fixed when the item is made."""

from datetime import timedelta
from typing import Any

import pytest

from approvals import intake
from approvals.models import Approval, Audience, PolicyRule
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, Team
from mcpdesk.audit.models import Event
from tasks_monitor.models import Answerers, Operation
from tests.approvals.answers import questions_rule
from tests.approvals.conftest import Ask, Join
from tests.factories import (
    NOW,
    InputRequestFactory,
    OperationFactory,
    PolicyRuleFactory,
    ServerFactory,
)

pytestmark = pytest.mark.django_db


def test_a_rule_fixes_who_answers_how_many_and_until_when(ask: Ask, team: Team, join: Join) -> None:
    named = [join(Role.OPERATOR).user, join().user]
    people = [one.pk for one in named]
    questions_rule(team, audience="people", people=people, quorum=2, deadline_s=3600)
    approval = ask()
    assert (approval.audience, approval.four_eyes) == (Audience.PEOPLE, True)
    assert set(approval.people.all()) == set(named)
    assert approval.deadline_at == NOW + timedelta(hours=1)
    assert approval.policy["ask"]["quorum"] == 2


def test_where_no_rule_speaks_of_questions_the_operations_setting_decides(
    ask: Ask, team: Team
) -> None:
    PolicyRuleFactory(team=team, effect="ask")
    approval = ask(questions_to=Answerers.REQUESTER)
    assert (approval.audience, approval.four_eyes) == (Audience.REQUESTER, False)
    assert approval.policy is None


def test_the_first_rule_that_matches_decides_by_the_arguments_of_the_call(
    ask: Ask, team: Team
) -> None:
    match = {"arguments": [{"path": "amount", "op": "greater", "value": 500}]}
    PolicyRuleFactory(team=team, match=match, questions={"quorum": 3})
    questions_rule(team, quorum=1, four_eyes=False)
    large = ask(arguments={"amount": 501}, key="a")
    small = ask(arguments={"amount": 500}, key="b")
    assert large.policy["ask"]["quorum"] == 3
    assert small.policy["ask"]["quorum"] == 1


def test_a_rule_that_cannot_be_read_puts_it_to_approvers_with_four_eyes_and_says_so(
    ask: Ask, team: Team
) -> None:
    rule = questions_rule(team)
    PolicyRule.objects.filter(pk=rule.pk).update(questions={"quorum": "all of them"})
    approval = ask(questions_to=Answerers.REQUESTER)
    assert (approval.audience, approval.four_eyes) == (Audience.APPROVERS, True)
    assert approval.policy["failed"] is True
    failed = Event.objects.get(kind="gate.rule_failed")
    assert failed.operation_id == approval.operation_id


def test_a_value_of_the_wrong_kind_puts_it_to_approvers_with_four_eyes(
    ask: Ask, team: Team
) -> None:
    match = {"arguments": [{"path": "amount", "op": "greater", "value": 500}]}
    PolicyRuleFactory(team=team, match=match, questions={"audience": "requester"})
    approval = ask(arguments={"amount": "5000"}, questions_to=Answerers.REQUESTER)
    assert (approval.audience, approval.four_eyes) == (Audience.APPROVERS, True)


def test_changing_the_rule_changes_nothing_that_waits(ask: Ask, team: Team) -> None:
    rule = questions_rule(team)
    approval = ask()
    PolicyRule.objects.filter(pk=rule.pk).update(questions={"quorum": 1, "four_eyes": False})
    intake.take_in(approval.operation_id, now=NOW)
    approval.refresh_from_db()
    assert (approval.policy["ask"]["quorum"], approval.four_eyes) == (2, True)


@pytest.mark.parametrize(("ours", "operations"), [(600, 3600), (3600, 600), (None, 600)])
def test_whichever_deadline_comes_first_counts(
    ask: Ask, team: Team, ours: int | None, operations: int
) -> None:
    questions_rule(team, deadline_s=ours)
    operation = OperationFactory(
        server=ServerFactory(team=team), deadline_at=NOW + timedelta(seconds=operations)
    )
    approval = ask(operation=operation)
    assert approval.deadline_at == NOW + timedelta(seconds=600)


def test_what_a_service_started_is_not_put_to_nobody(ask: Ask, team: Team) -> None:
    questions_rule(team, audience="requester", quorum=1, four_eyes=False)
    assert ask(started_by=None).audience == Audience.APPROVERS


def test_who_started_it_and_left_is_not_asked(ask: Ask, team: Team, operator: Member) -> None:
    questions_rule(team, audience="requester", quorum=1, four_eyes=False)
    assert ask(key="a").audience == Audience.REQUESTER
    operator.user.is_active = False
    operator.user.save()
    assert ask(key="b").audience == Audience.APPROVERS


def test_people_are_told_of_it_as_it_opens(ask: Ask, team: Team, monkeypatch: Any) -> None:
    told: list[Approval] = []
    monkeypatch.setattr("approvals.notices.opened", lambda approval, *_: told.append(approval))
    approval = ask()
    assert told == [approval]
    intake.take_in(approval.operation_id, now=NOW)
    assert told == [approval]


def test_taking_in_many_questions_costs_a_fixed_number_of_queries_each(
    team: Team, operator: Member, approver: Member, django_assert_max_num_queries: Any
) -> None:
    questions_rule(team)
    operation: Operation = OperationFactory(
        server=ServerFactory(team=team), started_by=operator.user
    )
    for number in range(10):
        InputRequestFactory(operation=operation, key=f"k{number}")
    with django_assert_max_num_queries(10 * 30 + 5):
        assert intake.take_in(operation.pk, now=NOW) == 10
