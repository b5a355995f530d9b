"""Our time for an answer is over: an ending of its own, in nobody's name, and nothing hangs."""

from datetime import timedelta

import pytest

from approvals import clockwork, intake
from approvals.models import Approval, ApprovalState, Vote
from mcpdesk.accounts.access import Member
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from tasks_monitor.engine import hold
from tasks_monitor.models import Delivery, InputRequest, InputRequestState, Operation
from tasks_monitor.states import State
from tests.approvals.conftest import Ask
from tests.factories import NOW, OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def passes(approval: Approval) -> Approval:
    """The time for this item runs out, and the clock comes by twice."""
    Approval.objects.filter(pk=approval.pk).update(deadline_at=NOW + HOUR)
    clockwork.look(NOW + HOUR)
    clockwork.look(NOW + HOUR)
    intake.take_in(approval.operation_id, now=NOW + HOUR)
    approval.refresh_from_db()
    return approval


def a_task(member: Member) -> Operation:
    server = ServerFactory(team=member.team)
    operation: Operation = OperationFactory(server=server, started_by=member.user, task_id="t")
    return operation


def test_between_two_rounds_the_operation_expires_and_nothing_is_sent(
    ask: Ask, approver: Member
) -> None:
    approval = passes(ask())
    operation = Operation.objects.get()
    assert (approval.state, operation.state) == (ApprovalState.EXPIRED, State.EXPIRED)
    assert operation.explanation == "Nobody answered in time: the desk's own deadline passed"
    assert not Delivery.objects.exists()
    assert InputRequest.objects.get().state == InputRequestState.EXPIRED


def test_the_other_questions_of_the_round_expire_with_it(ask: Ask, approver: Member) -> None:
    first = ask()
    other = ask(operation=first.operation)
    passes(first)
    other.refresh_from_db()
    assert other.state == ApprovalState.EXPIRED


def test_a_running_task_is_told_that_nobody_will_answer(
    ask: Ask, operator: Member, approver: Member
) -> None:
    approval = passes(ask(operation=a_task(operator), source="task", round=0))
    delivery = Delivery.objects.get()
    assert (delivery.response, delivery.answered_by) == ({"action": "cancel"}, None)
    operation = Operation.objects.get()
    assert (operation.state, operation.attention) == (State.INPUT_REQUIRED, True)
    assert approval.state == ApprovalState.EXPIRED


def test_the_other_questions_of_the_task_stay_open(
    ask: Ask, operator: Member, approver: Member
) -> None:
    task = a_task(operator)
    first = ask(operation=task, source="task", round=0)
    other = ask(operation=task, source="task", round=0)
    passes(first)
    other.refresh_from_db()
    assert other.is_open


@pytest.mark.parametrize("source", ["mrtr", "task"])
def test_it_never_reads_as_a_persons_word(
    ask: Ask, operator: Member, approver: Member, source: str
) -> None:
    operation = a_task(operator) if source == "task" else None
    approval = passes(ask(operation=operation, source=source))
    assert (approval.decision, approval.decided_by, Vote.objects.count()) == ("", None, 0)
    late = Event.objects.filter(at=NOW + HOUR)
    assert {(event.actor_id, event.actor_name) for event in late} <= {
        (None, "The clock"),
        (None, "The desk"),
    }
    said = " ".join(event.sentence for event in late)
    assert "The item closed: Expired: our own deadline passed" in said
    assert not {"decline", "accept", "denied"} & set(said.lower().split())


def test_a_question_that_nobody_could_answer_just_closes(
    ask: Ask, operator: Member, approver: Member
) -> None:
    approval = passes(
        ask(operation=a_task(operator), source="task", round=0, problem="Not offered")
    )
    assert (approval.state, Delivery.objects.count()) == (ApprovalState.EXPIRED, 0)


def test_the_servers_time_is_named_as_the_servers(ask: Ask, approver: Member) -> None:
    approval = ask()
    Approval.objects.update(deadline_at=NOW + HOUR)
    Operation.objects.update(state=State.EXPIRED, finished_at=NOW)
    clockwork.look(NOW)
    approval.refresh_from_db()
    assert approval.overrun == "the server's time for it ran out"
    event = Event.objects.get(kind="approval.closed")
    assert event.sentence == "The item closed: Expired: the server's time for it ran out"


def test_under_a_hold_the_servers_time_is_not_taken_for_ours(
    ask: Ask, operator: Member, approver: Member
) -> None:
    approval = ask()
    Approval.objects.update(deadline_at=NOW + HOUR)
    who = Actor.person(operator)
    hold.begin(operator.team_id, None, reason="odd", actor=who, now=NOW)
    Operation.objects.update(state=State.EXPIRED, finished_at=NOW + 2 * HOUR)
    clockwork.look(NOW + 2 * HOUR)
    approval.refresh_from_db()
    assert approval.deadline_at == NOW + 3 * HOUR
    assert approval.overrun == "the server's time for it ran out"
