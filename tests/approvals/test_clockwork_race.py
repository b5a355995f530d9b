"""Two clocks at once: each thing happens once."""

from datetime import timedelta

import pytest
from django.db import transaction

from approvals import clockwork
from approvals.models import Approval
from mcpdesk.accounts.access import Member
from mcpdesk.audit.models import Event
from tests.approvals.gates import a_gate
from tests.engine.racing import locks_off, meeting_after, side_by_side
from tests.factories import NOW

pytestmark = pytest.mark.django_db(transaction=True)

ASK = {"deadline_s": 36_000, "escalation": [{"after_s": 3600, "audience": "admins"}]}


def _both_look() -> dict[str, int]:
    """Two clocks have each taken the item; what was written of it in the end."""
    now = NOW + timedelta(hours=5)
    with meeting_after("approvals.clockwork._locked"):
        side_by_side(lambda: clockwork.look(now), lambda: clockwork.look(now))
    kinds = ("approval.reminded", "approval.escalated")
    return {kind: Event.objects.filter(kind=kind).count() for kind in kinds}


def test_two_clocks_remind_and_escalate_once(operator: Member, approver: Member) -> None:
    a_gate(operator, ASK)
    assert _both_look() == {"approval.reminded": 1, "approval.escalated": 1}


def test_control_without_the_lock_both_clocks_do_it(operator: Member, approver: Member) -> None:
    a_gate(operator, ASK)
    with locks_off():
        assert _both_look() == {"approval.reminded": 2, "approval.escalated": 2}


def test_two_clocks_expire_an_item_once(operator: Member, approver: Member) -> None:
    a_gate(operator, {"deadline_s": 60})
    _both_look()
    assert Event.objects.filter(kind="approval.closed").count() == 1


def test_a_clock_leaves_alone_what_somebody_decides_at_this_moment(
    operator: Member, approver: Member
) -> None:
    """It does not wait for the lock either: one slow decision holds no other item up."""
    approval = a_gate(operator, ASK)

    with transaction.atomic():
        Approval.objects.select_for_update().get(pk=approval.pk)
        (looked,) = side_by_side(lambda: clockwork.look(NOW + timedelta(hours=5)))
    assert looked == 0
    assert clockwork.look(NOW + timedelta(hours=5)) == 1
