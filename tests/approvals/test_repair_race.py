"""Two operators, one broken operation, at the same moment."""

from typing import Any

import pytest
from django.db import IntegrityError

from approvals import repair
from approvals.repair import Done, Overtaken, Proposed, Wish
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit.models import Event
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.reconcile import Choice
from tasks_monitor.models import Operation, Repair, RepairState
from tasks_monitor.states import State
from tests.approvals.conftest import Join
from tests.approvals.gates import LATER
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import OperationFactory, PolicyRuleFactory, ServerFactory

pytestmark = pytest.mark.django_db(transaction=True)

FAILED = Wish(Choice.RECORD_FAILED, "nothing arrived there")
_LOCK = "approvals.repair.lock"


@pytest.fixture
def broken(operator: Member) -> Operation:
    """A broken operation whose repair takes two."""
    PolicyRuleFactory(team=operator.team, repairs_need_two=True)
    server = ServerFactory(team=operator.team)
    made: Operation = OperationFactory(server=server, state=State.LOST, started_by=operator.user)
    return made


def _both_propose(broken: Operation, one: Member, other: Member) -> list[Any]:
    def by(member: Member) -> Any:
        return lambda: repair.propose(broken.pk, member=member, wish=FAILED, now=LATER)

    with meeting_after(_LOCK):
        return side_by_side(by(one), by(other))


def test_of_two_proposals_at_once_one_stands(
    broken: Operation, operator: Member, join: Join
) -> None:
    results = _both_propose(broken, operator, join(Role.OPERATOR))
    assert {type(result) for result in results} == {Proposed, Overtaken}
    assert Repair.objects.count() == 1


def test_control_without_the_lock_the_second_one_is_caught_by_the_database_only(
    broken: Operation, operator: Member, join: Join
) -> None:
    with locks_off():
        results = _both_propose(broken, operator, join(Role.OPERATOR))
    assert IntegrityError in {type(result) for result in results}


def _agree_and_refuse(made: Repair, one: Member, other: Member) -> list[Any]:
    with meeting_after(_LOCK):
        return side_by_side(
            lambda: repair.agree(made.pk, member=one, now=LATER),
            lambda: repair.refuse(made.pk, member=other, reason="it is there", now=LATER),
        )


def _proposed(broken: Operation, operator: Member) -> Repair:
    proposed = repair.propose(broken.pk, member=operator, wish=FAILED, now=LATER)
    assert isinstance(proposed, Proposed)
    return proposed.repair


def test_of_a_yes_and_a_no_at_once_one_counts(
    broken: Operation, operator: Member, join: Join
) -> None:
    made = _proposed(broken, operator)
    results = _agree_and_refuse(made, join(Role.OPERATOR), join(Role.ADMIN))
    assert sum(isinstance(result, Refused) for result in results) == 1
    made.refresh_from_db()
    done = Done(asks=False) in results
    assert made.state == (RepairState.DONE if done else RepairState.REFUSED)
    assert Operation.objects.get().state == (State.FAILED if done else State.LOST)


def test_control_without_the_lock_both_would_count(
    broken: Operation, operator: Member, join: Join
) -> None:
    made = _proposed(broken, operator)
    with locks_off():
        results = _agree_and_refuse(made, join(Role.OPERATOR), join(Role.ADMIN))
    assert not any(isinstance(result, Refused) for result in results)
    assert {"repair.agreed", "repair.refused"} <= set(Event.objects.values_list("kind", flat=True))
