"""A hold and the inbox: our deadlines stand still, all is kept, the server's time runs on."""

from datetime import datetime, timedelta

import pytest

from approvals import clockwork, standstill
from approvals.models import Approval, ApprovalState
from mcpdesk.accounts.access import Member
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from tasks_monitor.engine import hold
from tasks_monitor.models import Hold, Operation
from tasks_monitor.states import State
from tests.approvals.conftest import Ask
from tests.approvals.gates import a_gate, say
from tests.engine.conftest import an_admin
from tests.factories import NOW, OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
HOUR_OF_TIME = {"deadline_s": 3600}


def at(minute: float) -> datetime:
    return NOW + minute * MINUTE


def stop(member: Member, minute: float, server_id: int | None = None) -> Hold:
    who = Actor.person(member)
    return hold.begin(member.team_id, server_id, reason="odd", actor=who, now=at(minute))


def go_on(member: Member, held: Hold, minute: float) -> None:
    hold.end(held.pk, actor=an_admin(member.team), now=at(minute))


def look(*minutes: float) -> None:
    for minute in minutes:
        clockwork.look(at(minute))


def kinds(*, of: str) -> list[str]:
    return list(Event.objects.filter(kind__startswith=of).values_list("kind", flat=True))


def test_while_it_is_on_nothing_expires_and_nobody_is_reminded(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, HOUR_OF_TIME)
    stop(operator, 10)
    look(31, 55, 61, 600)
    approval.refresh_from_db()
    assert (approval.state, approval.reminders) == (ApprovalState.OPEN, 0)


def test_at_its_end_the_deadline_and_the_reminders_have_moved(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, HOUR_OF_TIME)
    held = stop(operator, 10)
    go_on(operator, held, 110)
    approval.refresh_from_db()
    assert (approval.deadline_at, approval.held_s) == (at(160), 6000)

    look(129)
    assert kinds(of="approval.reminded") == []
    look(130)
    assert kinds(of="approval.reminded") == ["approval.reminded"]
    look(154)
    assert len(kinds(of="approval.reminded")) == 2
    look(159)
    assert Approval.objects.get().is_open
    look(160)
    assert Approval.objects.get().state == ApprovalState.EXPIRED


def test_an_escalation_moves_too(operator: Member, approver: Member) -> None:
    ask = {**HOUR_OF_TIME, "escalation": [{"after_s": 1800, "audience": "admins"}]}
    a_gate(operator, ask)
    held = stop(operator, 10)
    look(40)
    go_on(operator, held, 110)
    look(129)
    assert kinds(of="approval.escalated") == []
    look(130)
    assert kinds(of="approval.escalated") == ["approval.escalated"]


def test_holds_that_overlap_count_once(operator: Member, approver: Member) -> None:
    approval = a_gate(operator, HOUR_OF_TIME)
    server_id = approval.operation.server_id
    whole, own = stop(operator, 10), stop(operator, 20, server_id)
    go_on(operator, whole, 30)
    approval.refresh_from_db()
    assert approval.deadline_at == at(60)
    go_on(operator, own, 40)
    approval.refresh_from_db()
    assert (approval.deadline_at, approval.held_s) == (at(90), 1800)


def test_what_was_asked_during_a_hold_gets_the_rest_of_it(
    operator: Member, approver: Member
) -> None:
    held = stop(operator, -30)
    approval = a_gate(operator, HOUR_OF_TIME)
    assert standstill.deadline_of(approval, at(20)) == at(80)
    go_on(operator, held, 20)
    approval.refresh_from_db()
    assert (approval.deadline_at, approval.held_s) == (at(80), 1200)


def test_a_question_that_comes_during_a_hold_gets_the_operations_time(
    ask: Ask, operator: Member, approver: Member
) -> None:
    operation = OperationFactory(
        server=ServerFactory(team=operator.team), created_at=at(-60), deadline_at=at(10)
    )
    held = stop(operator, -30)
    approval = ask(operation=operation)
    go_on(operator, held, 20)
    operation.refresh_from_db()
    approval.refresh_from_db()
    assert approval.deadline_at == operation.deadline_at == at(60)


def test_an_item_without_a_deadline_still_has_none(ask: Ask, operator: Member) -> None:
    approval = ask()
    held = stop(operator, 0)
    go_on(operator, held, 60)
    approval.refresh_from_db()
    assert (approval.deadline_at, approval.held_s) == (None, 3600)


def test_what_is_over_and_what_is_elsewhere_is_left_alone(
    operator: Member, approver: Member, ask: Ask
) -> None:
    over, elsewhere = ask(), ask()
    Approval.objects.update(deadline_at=at(60))
    Approval.objects.filter(pk=over.pk).update(state=ApprovalState.WITHDRAWN)
    held = stop(operator, 0, over.operation.server_id)
    go_on(operator, held, 30)
    for approval in (over, elsewhere):
        approval.refresh_from_db()
        assert (approval.deadline_at, approval.held_s) == (at(60), 0)


def test_our_deadline_as_it_stands_while_the_hold_is_on(operator: Member, approver: Member) -> None:
    approval = a_gate(operator, HOUR_OF_TIME)
    assert standstill.deadline_of(approval, at(30)) == at(60)
    stop(operator, 10)
    assert standstill.is_held(approval)
    assert standstill.deadline_of(approval, at(10)) == at(60)
    assert standstill.deadline_of(approval, at(90)) == at(140)


def test_people_may_still_decide_and_the_call_waits_for_the_end(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, HOUR_OF_TIME)
    held = stop(operator, 1)
    # past the deadline as it was before the hold
    say(approval, approver, now=at(90))
    operation = Operation.objects.get()
    assert (operation.state, Approval.objects.get().decision) == (State.READY, "approve")
    go_on(operator, held, 100)
    look(101, 1000)
    assert Approval.objects.get().decision == "approve"


def test_too_few_people_are_told_of_during_a_hold_as_well(operator: Member) -> None:
    a_gate(operator)
    stop(operator, 0)
    look(1)
    assert kinds(of="approval.nobody_left") == ["approval.nobody_left"]


def test_a_held_item_is_not_looked_at_again_and_again(operator: Member, approver: Member) -> None:
    a_gate(operator, HOUR_OF_TIME)
    stop(operator, 10)
    look(70)
    assert Approval.objects.get().look_at == at(70) + clockwork.AT_THE_LATEST


def test_the_servers_time_is_not_given_back(ask: Ask, operator: Member) -> None:
    approval = ask()
    Operation.objects.update(expires_at=at(30))
    held = stop(operator, 0)
    go_on(operator, held, 20)
    assert Operation.objects.get(pk=approval.operation_id).expires_at == at(30)
