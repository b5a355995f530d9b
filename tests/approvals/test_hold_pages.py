"""An item under a hold, and an item that expired: whose clock it is, in words."""

from datetime import timedelta

import pytest
import time_machine

from approvals import clockwork
from approvals.models import Approval
from mcpdesk.accounts.access import Member
from mcpdesk.audit.log import Actor
from tasks_monitor.engine import hold
from tasks_monitor.models import Operation
from tasks_monitor.states import State
from tests.approvals.conftest import Ask
from tests.approvals.gates import a_gate
from tests.factories import NOW
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def page_of(approval: Approval, member: Member, hours: float = 0) -> str:
    membership = member.user.memberships.get(team=member.team)
    with time_machine.travel(NOW + hours * HOUR, tick=False):
        response = signed_in(membership).get(f"/inbox/{approval.pk}/")
    return " ".join(response.content.decode().split())


def stop(member: Member) -> None:
    who = Actor.person(member)
    hold.begin(member.team_id, None, reason="Odd payments", actor=who, now=NOW)


def test_under_a_hold_our_deadline_stands_still_and_the_servers_runs_on(
    ask: Ask, operator: Member, approver: Member
) -> None:
    approval = ask()
    Approval.objects.update(deadline_at=NOW + HOUR)
    Operation.objects.update(expires_at=NOW + 3 * HOUR)
    stop(operator)
    page = page_of(approval, approver, 2)
    assert "Our deadline stands still while it is on hold; now it would be" in page
    assert 'title="2026-11-29 17:00:00 UTC">17:00:00 UTC</time>.' in page
    assert "The server keeps it until" in page
    assert "60 min left" in page or "1 h left" in page
    assert "<strong>You are up.</strong>" in page


def test_a_gate_past_its_deadline_can_be_decided_while_it_stands_still(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, {"deadline_s": 3600})
    stop(operator)
    page = page_of(approval, approver, 2)
    assert "The deadline stands still while it is on hold" in page
    assert "<strong>You are up.</strong>" in page


@pytest.mark.parametrize(
    ("ours", "says"),
    [(True, "our own deadline passed"), (False, "the server's time for it ran out")],
)
def test_an_expired_item_says_whose_time_ran_out(
    ask: Ask, approver: Member, ours: bool, says: str
) -> None:
    approval = ask()
    if ours:
        Approval.objects.update(deadline_at=NOW)
    else:
        Operation.objects.update(state=State.EXPIRED, finished_at=NOW)
    clockwork.look(NOW)
    page = page_of(approval, approver).replace("&#x27;", "'")
    assert f": {says}. Nobody answered it, and nobody refused it." in page
