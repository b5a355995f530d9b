"""An item that nobody may decide never sits silent."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from approvals import alertness, clockwork, notices
from approvals.models import AT_ONCE, Approval
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from mcpdesk.web import members
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate
from tests.factories import NOW, MembershipFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []

    def noting(name: str) -> Callable[[Approval, datetime], None]:
        return lambda approval, now: found.append(name)

    for name in ("nobody_left", "somebody_again"):
        monkeypatch.setattr(notices, name, noting(name))
    return found


def look() -> None:
    clockwork.look(NOW + timedelta(seconds=2))


def test_a_new_item_that_nobody_may_decide_is_told_once(operator: Member, told: list[str]) -> None:
    a_gate(operator)
    look()
    Approval.objects.update(look_at=AT_ONCE)
    look()
    assert told == ["nobody_left"]
    assert Event.objects.filter(kind="approval.nobody_left").count() == 1


def test_it_is_told_in_the_transaction_that_opens_the_item(
    operator: Member, ask: Ask, told: list[str]
) -> None:
    a_gate(operator)
    ask()
    assert told == ["nobody_left"] * 2


def test_with_somebody_there_nothing_is_told(
    operator: Member, approver: Member, told: list[str]
) -> None:
    a_gate(operator)
    look()
    assert told == []


def test_a_quorum_that_cannot_be_reached_is_nobody_too(
    operator: Member, approver: Member, told: list[str], join: Join
) -> None:
    a_gate(operator, {"quorum": 2})
    look()
    assert told == ["nobody_left"]

    join(Role.ADMIN)
    alertness.look_again(operator.team_id)
    look()
    assert told == ["nobody_left", "somebody_again"]


def test_under_four_eyes_the_starter_is_nobody(join: Join, told: list[str]) -> None:
    a_gate(join(Role.ADMIN), {"four_eyes": True})
    look()
    assert told == ["nobody_left"]


def test_a_question_needs_one_person(ask: Ask, operator: Member, told: list[str]) -> None:
    ask()
    look()
    assert told == ["nobody_left"]


def test_a_policy_that_cannot_be_read_is_told(
    operator: Member, approver: Member, told: list[str]
) -> None:
    a_gate(operator)
    Approval.objects.update(policy={"ask": {"quorum": "many"}})
    look()
    assert told == ["nobody_left"]


def _verbs(member: Member, admin: Member) -> dict[str, Callable[[], object]]:
    """What an admin may do to the one person who decides."""
    pk = Membership.objects.get(user=member.user, team=member.team).pk
    how: dict[str, Any] = {"team_id": member.team_id, "actor": Actor.person(admin), "now": NOW}
    return {
        "role": lambda: members.change_role(pk, role=Role.VIEWER, **how),
        "back": lambda: members.change_role(pk, role=Role.APPROVER, **how),
        "remove": lambda: members.remove_member(pk, **how),
        "deactivate": lambda: members.deactivate(pk, **how),
        "reactivate": lambda: members.reactivate(pk, **how),
    }


@pytest.mark.parametrize("verb", ["role", "remove", "deactivate"])
def test_when_the_last_one_goes_the_next_look_tells_at_once(
    join: Join, told: list[str], verb: str
) -> None:
    admin, approver = join(Role.ADMIN), join()
    a_gate(admin)
    look()
    assert told == []
    assert Approval.objects.get().look_at > NOW + timedelta(minutes=1)

    _verbs(approver, admin)[verb]()
    look()

    assert told == ["nobody_left"]


def test_when_somebody_comes_back_the_alert_is_over(join: Join, told: list[str]) -> None:
    admin, approver = join(Role.ADMIN), join()
    a_gate(admin)
    verbs = _verbs(approver, admin)
    for verb in ("deactivate", "reactivate", "role", "back"):
        verbs[verb]()
        look()
    assert told == ["nobody_left", "somebody_again"] * 2


def test_a_new_member_ends_it(join: Join, told: list[str]) -> None:
    admin = join(Role.ADMIN)
    a_gate(admin)
    look()
    members.add_member(
        team_id=admin.team_id,
        email="new@example.test",
        name="New",
        role=Role.APPROVER,
        password="",
        actor=Actor.person(admin),
        now=NOW,
    )
    look()
    assert told == ["nobody_left", "somebody_again"]


def test_a_change_in_another_team_looks_at_nothing_here(operator: Member) -> None:
    a_gate(operator)
    look()
    before = Approval.objects.get().look_at
    alertness.look_again(MembershipFactory().team_id)
    assert Approval.objects.get().look_at == before


def test_the_change_rings_the_clock_once_it_is_committed(
    operator: Member, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    rung: list[str] = []
    monkeypatch.setattr("tasks_monitor.engine.doorbell.ring_task", rung.append)
    with django_capture_on_commit_callbacks(execute=True):
        alertness.look_again(operator.team_id)
        assert rung == []
    assert rung == ["approvals.tasks.sweep"]
