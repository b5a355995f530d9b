"""What pages say of a call that broke, while it waits at the gate to be sent again and after."""

from datetime import timedelta

import pytest

from approvals import repair
from approvals.models import Approval, Kind, Verdict
from approvals.repair import Wish
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.engine.reconcile import Choice
from tasks_monitor.models import Operation
from tasks_monitor.states import State
from tests.approvals.conftest import Join
from tests.approvals.gates import LATER, rule, say
from tests.factories import OperationFactory, ServerFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def starter(join: Join) -> Member:
    return join(Role.ADMIN)


@pytest.fixture
def broken(operator: Member, starter: Member) -> Operation:
    """A call of somebody else's that the operator wants sent again."""
    rule(operator.team, "ask", ask={"audience": "approvers", "four_eyes": True})
    server = ServerFactory(team=operator.team)
    made: Operation = OperationFactory(
        server=server, state=State.UNKNOWN, started_by=starter.user, attempts_made=1
    )
    return made


def _ask(operation: Operation, member: Member, minutes: int = 0) -> Approval:
    wish = Wish(Choice.SEND_AGAIN, f"Reason {minutes}")
    repair.propose(operation.pk, member=member, wish=wish, now=LATER + timedelta(minutes=minutes))
    return Approval.objects.filter(kind=Kind.GATE).latest("created_at")


def _page(member: Member, address: str) -> str:
    reader = signed_in(Membership.objects.get(user=member.user))
    return " ".join(reader.get(address).content.decode().split())


def test_whoever_approves_reads_who_wants_it_sent_again_and_why(
    broken: Operation, operator: Member, starter: Member, join: Join
) -> None:
    item = _ask(broken, operator)
    text = _page(join(Role.APPROVER), f"/inbox/{item.pk}/")
    assert f"{operator.user} asked" in text and "to send it again: “Reason 0”" in text
    assert f"{starter.user} started it" in text
    assert "nothing was sent" not in text.lower()
    assert f"from {operator.user}" in _page(join(Role.APPROVER), "/inbox/")


def test_who_had_it_sent_again_is_told_that_and_who_started_it_is_told_that(
    broken: Operation, operator: Member, starter: Member
) -> None:
    item = _ask(broken, operator)
    address = f"/inbox/{item.pk}/"
    assert "You want it sent again: someone else must decide." in _page(operator, address)
    assert "You started this: someone else must decide." in _page(starter, address)


def test_the_page_of_the_operation_shows_every_gate_the_latest_first(
    broken: Operation, operator: Member, join: Join
) -> None:
    first = _ask(broken, operator)
    assert "nothing was sent" not in _page(operator, f"/operations/{broken.pk}/")
    say(first, join(Role.APPROVER), Verdict.DENY, now=LATER + timedelta(minutes=1))
    second = _ask(broken, operator, minutes=2)
    text = _page(operator, f"/operations/{broken.pk}/")
    assert "it was sent before, and is not sent again until then" in text
    assert "Do not send it again" in text
    assert text.index(f"/inbox/{second.pk}/") < text.index(f"/inbox/{first.pk}/")
    assert "Send it again? Waits for" in text and "Denied by" in text
