"""Items that a clock or the end of an operation closes: never as somebody's refusal."""

from datetime import timedelta

import pytest

from approvals import clockwork, tasks
from approvals.models import Approval, ApprovalState
from mcpdesk.audit.models import Event
from tasks_monitor.models import Delivery, Operation
from tasks_monitor.states import State
from tests.approvals.conftest import Ask
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def test_an_item_past_our_deadline_expires(ask: Ask) -> None:
    approval = ask()
    Approval.objects.update(deadline_at=NOW)
    assert clockwork.look(NOW) == 1
    approval.refresh_from_db()
    assert approval.state == ApprovalState.EXPIRED
    assert approval.closed_at == NOW
    assert (approval.decision, approval.decided_by) == ("", None)
    assert not Delivery.objects.exists()
    event = Event.objects.get(kind="approval.closed")
    assert (event.actor, event.actor_name) == (None, "The clock")


def test_an_item_before_its_deadline_stays_open(ask: Ask) -> None:
    ask()
    Approval.objects.update(deadline_at=NOW + timedelta(seconds=1))
    clockwork.look(NOW)
    assert Approval.objects.get().is_open


@pytest.mark.parametrize(
    ("state", "becomes"),
    [
        (State.EXPIRED, ApprovalState.EXPIRED),
        (State.COMPLETED, ApprovalState.CLOSED),
        (State.CANCELLED, ApprovalState.CLOSED),
        (State.FAILED, ApprovalState.CLOSED),
    ],
)
def test_no_item_outlives_its_operation(ask: Ask, state: State, becomes: ApprovalState) -> None:
    approval = ask()
    Operation.objects.update(state=state, finished_at=NOW)
    clockwork.look(NOW)
    approval.refresh_from_db()
    assert approval.state == becomes


def test_a_second_look_changes_nothing(ask: Ask) -> None:
    ask()
    Approval.objects.update(deadline_at=NOW)
    clockwork.look(NOW)
    assert clockwork.look(NOW) == 0
    assert Event.objects.filter(kind="approval.closed").count() == 1


def test_the_clock_closes_what_is_over(ask: Ask) -> None:
    approval = ask()
    Approval.objects.update(deadline_at=NOW)
    tasks.sweep()
    approval.refresh_from_db()
    assert approval.state == ApprovalState.EXPIRED
