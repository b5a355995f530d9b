"""The alert that a rule could not be applied: when it comes, and what ends it."""

from collections.abc import Callable
from typing import Any

import pytest

from approvals import policies
from approvals.models import PolicyRule
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit.admins import Who
from mcpdesk.notify.models import Alert
from tests.approvals.conftest import Join
from tests.approvals.gates import request, rule
from tests.factories import NOW

pytestmark = pytest.mark.django_db

#: Fails for a text, and for nothing else.
GREATER = [{"path": "amount", "op": "greater", "value": 5}]
WRONG, RIGHT = {"amount": "6"}, {"amount": 6}

Change = Callable[[PolicyRule, Who], object]


def _all() -> int:
    return Alert.objects.filter(matter__startswith="rule_failed:").count()


def _open() -> int:
    return Alert.objects.filter(matter__startswith="rule_failed:", closed_at__isnull=True).count()


def _said(found: PolicyRule, **more: Any) -> dict[str, Any]:
    return {**found.as_rule(), **more}


def _changed(found: PolicyRule, who: Who) -> object:
    return policies.change_rule(found.pk, _said(found, tool="x*"), version=found.version, who=who)


def _renamed(found: PolicyRule, who: Who) -> object:
    return policies.change_rule(found.pk, _said(found, name="n"), version=found.version, who=who)


def _switched_off(found: PolicyRule, who: Who) -> object:
    return policies.set_enabled(found.pk, False, version=found.version, who=who)


def _removed(found: PolicyRule, who: Who) -> object:
    return policies.delete_rule(found.pk, version=found.version, who=who)


@pytest.mark.parametrize("change", [_changed, _renamed, _switched_off, _removed])
def test_it_ends_when_the_rule_is_changed_or_gone(
    operator: Member, join: Join, change: Change
) -> None:
    broken = rule(operator.team, "allow", arguments=GREATER)
    request(operator, WRONG)
    request(operator, WRONG)
    assert _open() == 1
    change(PolicyRule.objects.get(pk=broken.pk), Who(join(Role.ADMIN), NOW))
    assert _open() == 0
    assert _all() == 1


def test_it_stays_when_another_rule_is_changed(operator: Member, join: Join) -> None:
    rule(operator.team, "allow", arguments=GREATER)
    request(operator, WRONG)
    other = rule(operator.team, "ask")
    _changed(PolicyRule.objects.get(pk=other.pk), Who(join(Role.ADMIN), NOW))
    assert _open() == 1


@pytest.mark.parametrize("arguments", [RIGHT, {"amount": 1}, {}])
def test_it_ends_when_the_rule_can_be_applied_again(
    operator: Member, arguments: dict[str, Any]
) -> None:
    rule(operator.team, "allow", arguments=GREATER)
    request(operator, WRONG)
    assert _open() == 1
    request(operator, arguments)
    assert _open() == 0
    request(operator, WRONG)
    assert (_open(), _all()) == (1, 2)


def test_it_stays_when_the_rule_was_not_looked_at(operator: Member) -> None:
    early = rule(operator.team, "allow", tool="other_*")
    rule(operator.team, "allow", arguments=GREATER)
    request(operator, WRONG)
    PolicyRule.objects.filter(pk=early.pk).update(match={"server": "*", "tool": "*"})
    request(operator, RIGHT)
    assert _open() == 1


def test_a_rule_in_front_that_fails_ends_nothing_of_those_behind_it(operator: Member) -> None:
    early = rule(operator.team, "allow", tool="other_*")
    rule(operator.team, "allow", arguments=GREATER)
    request(operator, WRONG)
    match = {"server": "*", "tool": "*", "arguments": GREATER}
    PolicyRule.objects.filter(pk=early.pk).update(match=match)
    request(operator, WRONG)
    assert _open() == 2
