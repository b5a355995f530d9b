"""Repair: an operator, or two, say what becomes of an operation that broke."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from approvals import clockwork, intake, repair, repairable
from approvals.models import Approval, ApprovalState, Kind, Verdict
from approvals.outcomes import Refused as NotDecided
from approvals.outcomes import Voted
from approvals.repair import Done, Proposed, Wish
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import DESK
from mcpdesk.audit.models import Event
from mcpdesk.notify.models import Alert
from tasks_monitor import broken as broken_page
from tasks_monitor import history
from tasks_monitor.engine.cancel import request_cancel
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.reconcile import Choice
from tasks_monitor.engine.rows import lock, move
from tasks_monitor.engine.sweep import sweep
from tasks_monitor.history_filters import OperationFilters
from tasks_monitor.models import AttemptOutcome, Operation, Repair, RepairState, Server
from tasks_monitor.states import State
from tests.approvals.conftest import Join
from tests.approvals.gates import LATER, rule, say
from tests.factories import (
    NOW,
    AttemptFactory,
    InputRequestFactory,
    OperationFactory,
    ServerFactory,
    TeamFactory,
)

pytestmark = pytest.mark.django_db

SOON = LATER + timedelta(minutes=5)
FAILED = Wish(Choice.RECORD_FAILED, "nothing arrived there")
AGAIN = Wish(Choice.SEND_AGAIN, "it cannot have arrived")


@pytest.fixture
def server(operator: Member) -> Server:
    made: Server = ServerFactory(team=operator.team)
    return made


@pytest.fixture
def broken(server: Server, operator: Member) -> Operation:
    """A call of the operator's whose outcome is unknown."""
    made: Operation = OperationFactory(
        server=server,
        state=State.UNKNOWN,
        started_by=operator.user,
        explanation="The server did not answer in time.",
    )
    return made


@pytest.fixture
def other(join: Join) -> Member:
    return join(Role.OPERATOR)


def two(operation: Operation, effect: str = "allow", **ask: Any) -> None:
    """A rule by which repairs of every call take two."""
    made = rule(operation.team, effect, ask=ask or None)
    made.repairs_need_two = True
    made.save()


def propose(operation: Operation, member: Member, wish: Wish = FAILED, **more: Any) -> Any:
    return repair.propose(operation.pk, member=member, wish=wish, **{"now": LATER, **more})


def proposed(operation: Operation, member: Member, wish: Wish = FAILED) -> Repair:
    made = propose(operation, member, wish)
    assert isinstance(made, Proposed)
    return made.repair


def state_of(operation: Operation) -> str:
    return Operation.objects.get(pk=operation.pk).state


def _alert() -> Alert:
    """The one that tells of the proposal made last."""
    return Alert.objects.filter(matter__startswith="repair:").latest("opened_at")


def kinds() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("kind", flat=True))


def test_one_operator_is_enough_where_no_rule_asks_for_two(
    broken: Operation, operator: Member
) -> None:
    assert propose(broken, operator) == Done(asks=False)
    assert state_of(broken) == State.FAILED
    kept = Repair.objects.get()
    assert (kept.state, kept.proposed_by, kept.decided_by) == (
        RepairState.DONE,
        operator.user,
        operator.user,
    )
    assert "nothing arrived" not in str(list(Event.objects.values_list("data", flat=True)))


def test_where_a_rule_asks_for_two_nothing_is_done_until_somebody_else_agrees(
    broken: Operation, operator: Member, other: Member
) -> None:
    two(broken)
    made = proposed(broken, operator)
    assert state_of(broken) == State.UNKNOWN
    assert _alert().closed_at is None
    assert repair.agree(made.pk, member=other, now=SOON) == Done(asks=False)
    assert state_of(broken) == State.FAILED
    made.refresh_from_db()
    assert (made.state, made.decided_by) == (RepairState.DONE, other.user)
    assert _alert().closed_at == SOON
    assert {"repair.proposed", "repair.agreed", "operation.reconciled"} <= set(kinds())


def test_a_rule_that_cannot_be_applied_asks_for_two(broken: Operation, operator: Member) -> None:
    rule(broken.team, "allow", tool=7)
    assert isinstance(propose(broken, operator), Proposed)


def test_who_proposed_it_cannot_agree_to_it_or_refuse_it(
    broken: Operation, operator: Member
) -> None:
    two(broken)
    made = proposed(broken, operator)
    with pytest.raises(Refused, match="somebody else"):
        repair.agree(made.pk, member=operator, now=SOON)
    with pytest.raises(Refused, match="somebody else"):
        repair.refuse(made.pk, member=operator, reason="no", now=SOON)
    assert state_of(broken) == State.UNKNOWN


def test_a_refusal_leaves_everything_as_it_was_and_says_why(
    broken: Operation, operator: Member, other: Member
) -> None:
    two(broken)
    made = proposed(broken, operator)
    with pytest.raises(Refused, match="Say why"):
        repair.refuse(made.pk, member=other, reason=" ", now=SOON)
    repair.refuse(made.pk, member=other, reason="it is there after all", now=SOON)
    made.refresh_from_db()
    assert made.state == RepairState.REFUSED
    assert made.content["refused_because"] == "it is there after all"
    assert (state_of(broken), _alert().closed_at) == (State.UNKNOWN, SOON)
    assert isinstance(propose(broken, operator), Proposed)


def test_only_who_proposed_it_takes_it_back(
    broken: Operation, operator: Member, other: Member
) -> None:
    two(broken)
    made = proposed(broken, operator)
    with pytest.raises(Refused, match="refuse it instead"):
        repair.take_back(made.pk, member=other, now=SOON)
    repair.take_back(made.pk, member=operator, now=SOON)
    made.refresh_from_db()
    assert made.state == RepairState.WITHDRAWN
    with pytest.raises(Refused, match="decided meanwhile"):
        repair.agree(made.pk, member=other, now=SOON)


def test_while_one_is_proposed_nothing_else_is(
    broken: Operation, operator: Member, other: Member
) -> None:
    two(broken)
    proposed(broken, operator)
    with pytest.raises(Refused, match="proposed already"):
        propose(broken, other)
    assert Repair.objects.count() == 1


def test_a_proposal_falls_away_when_the_operation_moves(
    broken: Operation, operator: Member, other: Member
) -> None:
    two(broken)
    made = proposed(broken, operator)
    with transaction.atomic():
        move(lock(broken.pk), State.WORKING, now=SOON, reason="it answered", actor=DESK)
        move(lock(broken.pk), State.LOST, now=SOON, reason="gone", actor=DESK)
    assert repair.standing(Operation.objects.get()) is None
    assert Alert.objects.get(matter__startswith="repair:").closed_at == SOON
    with pytest.raises(Refused, match="has moved"):
        repair.agree(made.pk, member=other, now=SOON)
    assert state_of(broken) == State.LOST
    again = proposed(broken, other)
    assert again.pk != made.pk
    made.refresh_from_db()
    assert made.state == RepairState.WITHDRAWN


@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.AUDITOR])
def test_other_roles_repair_nothing(
    broken: Operation, operator: Member, join: Join, role: Role
) -> None:
    two(broken)
    made = proposed(broken, operator)
    member = join(role)
    for verb in (repair.agree, repair.take_back):
        with pytest.raises(Refused, match="Your role"):
            verb(made.pk, member=member, now=SOON)
    with pytest.raises(Refused, match="Your role"):
        propose(broken, member)
    assert state_of(broken) == State.UNKNOWN


def test_another_team_has_no_such_operation(
    broken: Operation, operator: Member, join: Join
) -> None:
    foreign = join(Role.ADMIN, team=TeamFactory())
    two(broken)
    made = proposed(broken, operator)
    with pytest.raises(Operation.DoesNotExist):
        propose(broken, foreign)
    with pytest.raises(Repair.DoesNotExist):
        repair.agree(made.pk, member=foreign, now=SOON)


def test_what_somebody_proposed_who_lost_the_role_is_not_carried_out(
    broken: Operation, operator: Member, other: Member
) -> None:
    two(broken)
    made = proposed(broken, operator)
    Membership.objects.filter(user=operator.user).update(role=Role.VIEWER)
    with pytest.raises(Refused, match="may not repair operations any more"):
        repair.agree(made.pk, member=other, now=SOON)
    assert state_of(broken) == State.UNKNOWN


# --- sending again, past the gate


def test_sending_again_waits_at_the_gate_where_the_policy_asks(
    broken: Operation, operator: Member, join: Join
) -> None:
    rule(broken.team, "ask", ask={"audience": "approvers"})
    assert propose(broken, operator, AGAIN) == Done(asks=True)
    waiting = Operation.objects.get()
    assert (waiting.state, waiting.again_from) == (State.AWAITING_APPROVAL, State.UNKNOWN)
    assert waiting.explanation == "The server did not answer in time."
    gate = Approval.objects.get(kind=Kind.GATE)
    assert isinstance(say(gate, join(Role.APPROVER), now=SOON), Voted)
    sent = Operation.objects.get()
    assert (sent.state, sent.again_from, sent.due_at) == (State.READY, "", SOON)


def test_a_policy_that_lets_it_run_sends_it_at_once(broken: Operation, operator: Member) -> None:
    rule(broken.team, "allow")
    assert propose(broken, operator, AGAIN) == Done(asks=False)
    assert state_of(broken) == State.READY
    assert not Approval.objects.exists()


def test_a_disabled_tool_is_not_sent_again(broken: Operation, operator: Member) -> None:
    rule(broken.team, "disabled")
    with pytest.raises(Refused, match="disables this tool"):
        propose(broken, operator, AGAIN)
    assert (state_of(broken), Repair.objects.count()) == (State.UNKNOWN, 0)


def test_who_has_it_sent_again_does_not_approve_that(
    broken: Operation, operator: Member, join: Join
) -> None:
    admin = join(Role.ADMIN)
    rule(broken.team, "ask", ask={"audience": "approvers", "four_eyes": True})
    propose(broken, admin, AGAIN)
    gate = Approval.objects.get(kind=Kind.GATE)
    assert not access.may_decide(admin, gate)
    refused = say(gate, admin, now=SOON)
    assert isinstance(refused, NotDecided)
    assert "somebody else must decide" in refused.sentence
    assert admin.user_id not in {user.pk for user in access.deciders(gate).users}


def test_who_proposed_that_it_is_sent_again_does_not_approve_it_though_somebody_else_agreed(
    broken: Operation, join: Join
) -> None:
    proposer, agreed = join(Role.ADMIN), join(Role.ADMIN)
    two(broken, "ask", audience="approvers", four_eyes=True)
    made = proposed(broken, proposer, AGAIN)
    assert repair.agree(made.pk, member=agreed, now=SOON) == Done(asks=True)
    gate = Approval.objects.get(kind=Kind.GATE)
    assert not access.may_decide(proposer, gate)
    assert isinstance(say(gate, proposer, now=SOON), NotDecided)
    assert {user.pk for user in access.deciders(gate).users} == {agreed.user_id}


def test_denied_at_the_gate_it_is_what_it_was_and_was_not_refused_as_a_whole(
    broken: Operation, operator: Member, join: Join
) -> None:
    rule(broken.team, "ask", ask={"audience": "approvers"})
    propose(broken, operator, AGAIN)
    gate = Approval.objects.get(kind=Kind.GATE)
    say(gate, join(Role.APPROVER), Verdict.DENY, now=SOON)
    back = Operation.objects.get()
    assert (back.state, back.again_from, back.finished_at) == (State.UNKNOWN, "", None)
    assert back.explanation == "The server did not answer in time."
    gate.refresh_from_db()
    assert gate.decision == Verdict.DENY
    # and once more it can be asked for
    assert propose(broken, operator, AGAIN, now=SOON) == Done(asks=True)
    assert Approval.objects.filter(kind=Kind.GATE).count() == 2


def test_nobody_decided_in_time_leaves_it_what_it_was(broken: Operation, operator: Member) -> None:
    rule(broken.team, "ask", ask={"audience": "approvers", "deadline_s": 3600})
    propose(broken, operator, AGAIN)
    clockwork.look(LATER + timedelta(hours=2))
    assert state_of(broken) == State.UNKNOWN
    assert Approval.objects.get().state == ApprovalState.EXPIRED


@pytest.mark.parametrize("rung", [True, False])
def test_taken_back_while_it_waits_it_is_what_it_was_and_the_item_closes(
    broken: Operation, operator: Member, rung: bool
) -> None:
    rule(broken.team, "ask", ask={"audience": "approvers"})
    propose(broken, operator, AGAIN)
    request_cancel(broken.pk, actor=DESK, now=SOON)
    assert state_of(broken) == State.UNKNOWN
    assert Operation.objects.get().cancel_requested_at is None
    if rung:
        intake.take_in(broken.pk, now=SOON)
    else:
        clockwork.look(SOON)
    assert Approval.objects.get().state == ApprovalState.CLOSED


def test_our_own_deadline_leaves_an_unknown_outcome_unknown(
    broken: Operation, operator: Member
) -> None:
    rule(broken.team, "ask", ask={"audience": "approvers"})
    propose(broken, operator, AGAIN)
    Operation.objects.update(deadline_at=NOW)
    sweep(SOON)
    assert state_of(broken) == State.UNKNOWN


def test_recording_as_done_needs_evidence_and_keeps_it(broken: Operation, operator: Member) -> None:
    with pytest.raises(Refused, match="what shows"):
        propose(broken, operator, Wish(Choice.RECORD_DONE, "I looked"))
    propose(broken, operator, Wish(Choice.RECORD_DONE, "I looked", evidence="release 43 is up"))
    assert state_of(broken) == State.COMPLETED
    decision = Operation.objects.get().payload.decisions[-1]
    assert decision["evidence"] == "release 43 is up"


def test_who_only_agreed_is_not_said_to_have_written_it(
    broken: Operation, operator: Member, other: Member
) -> None:
    two(broken)
    done = Wish(Choice.RECORD_DONE, "I looked", evidence="release 43 is up")
    made = proposed(broken, operator, done)
    repair.agree(made.pk, member=other, now=SOON)
    operation = Operation.objects.get()
    both = f"{operator.user} recorded it as done, and {other.user} agreed"
    assert operation.explanation == f"{both}: I looked"
    (decision,) = operation.payload.decisions
    assert (decision["proposed_by"], decision["by"]) == (str(operator.user), str(other.user))


def test_the_alert_of_a_proposal_names_the_call(broken: Operation, operator: Member) -> None:
    two(broken)
    proposed(broken, operator)
    sentence = Alert.objects.get(matter=f"repair:{broken.pk}").sentence
    call = f"{broken.server.name}, “{broken.tool_name}” ({str(broken.pk)[:8]})"
    assert sentence.startswith(f"{call}: a repair is proposed")


def test_a_task_that_somebody_attached_is_not_said_to_be_made_by_the_server(
    broken: Operation, operator: Member
) -> None:
    broken.payload.status_message = "Half of it is done"
    broken.payload.save()
    propose(broken, operator, Wish(Choice.ATTACH_TASK, "found it", task_id="t-77"))
    with transaction.atomic():
        move(lock(broken.pk), State.LOST, now=SOON, actor=DESK, reason="not known")
    operation = Operation.objects.get()
    words = [fact.words for fact in broken_page.known(operation)]
    mark = f"task {operation.task_label} (the desk’s mark of the task, not its id)"
    assert f"A person attached {mark}." in words
    assert "whose id it was given" in broken_page.not_known(operation)
    assert Alert.objects.get(matter__startswith="lost:").sentence.endswith("it was given.")
    assert operation.payload.status_message is None


def test_a_repair_is_found_by_the_words_of_its_reason_and_evidence(
    broken: Operation, operator: Member, join: Join
) -> None:
    done = Wish(Choice.RECORD_DONE, "looked at the console", evidence="marmalade release")
    propose(broken, operator, done)
    auditor = join(Role.AUDITOR)
    for text in ("console", "marmalade"):
        found = history.page(auditor, OperationFilters.read({"text": text})).rows
        assert [one.pk for one in found] == [broken.pk]


def test_calls_that_were_all_answered_are_told_in_one_line(broken: Operation) -> None:
    for number in range(1, 23):
        AttemptFactory(operation=broken, number=number, outcome=AttemptOutcome.ANSWERED)
    Operation.objects.update(state=State.STUCK)
    operation = Operation.objects.get()
    (fact,) = broken_page.known(operation)
    assert fact.words == (
        "Calls 3 to 22 were sent, and the server answered each. This was the last."
    )
    assert "there is no task to check" in broken_page.not_known(operation)


def test_one_question_was_asked_once(broken: Operation) -> None:
    InputRequestFactory(operation=broken)
    assert broken_page.known(broken)[-1].words == (
        "It asked once: 0 answers were taken, 1 is open."
    )


def test_the_history_says_what_came_of_a_call_at_the_gate(
    broken: Operation, operator: Member, join: Join
) -> None:
    rule(broken.team, "ask", ask={"audience": "approvers", "deadline_s": 3600})
    propose(broken, operator, AGAIN)
    approver = join(Role.APPROVER)

    def last() -> str:
        return repairable.read(Operation.objects.get()).past[0].at_the_gate

    assert last() == "It went to the gate, and waits there."
    say(Approval.objects.get(), approver, Verdict.DENY, now=SOON)
    assert last() == f"It went to the gate: denied by {approver.user}. It was not sent again."
    propose(broken, operator, AGAIN, now=SOON)
    clockwork.look(SOON + timedelta(hours=2))
    assert "was not decided in time" in last()
    propose(broken, operator, AGAIN, now=SOON + timedelta(hours=3))
    request_cancel(broken.pk, actor=DESK, now=SOON + timedelta(hours=3))
    intake.take_in(broken.pk, now=SOON + timedelta(hours=3))
    assert "was taken back" in last()
    propose(broken, operator, FAILED, now=SOON + timedelta(hours=4))
    assert last() == ""


LONG_AGO = NOW - timedelta(days=40)


def past_the_bounds(server: Server, **columns: Any) -> Operation:
    """A task that is not checked any more: it was for too long, or too often."""
    due = {"task_id": "task-0001", "due_at": LATER}
    made: Operation = OperationFactory(server=server, state=State.WORKING, **due, **columns)
    sweep(LATER)
    assert state_of(made) == State.STUCK
    return made


@pytest.mark.parametrize("bound", [{"created_at": LONG_AGO}, {"polls": 100_000}])
def test_a_task_attached_past_the_bounds_is_followed_for_as_long_as_any_other(
    server: Server, operator: Member, bound: dict[str, Any]
) -> None:
    stuck = past_the_bounds(server, **bound)
    propose(stuck, operator, Wish(Choice.ATTACH_TASK, "found it there", task_id="task-0002"))
    sweep(SOON)
    assert state_of(stuck) == State.WORKING
    sweep(SOON + timedelta(days=31))
    assert state_of(stuck) == State.STUCK


def test_an_old_call_that_is_sent_again_is_followed_as_a_new_one(
    server: Server, operator: Member
) -> None:
    stuck = past_the_bounds(server, created_at=LONG_AGO)
    rule(stuck.team, "allow")
    propose(stuck, operator, AGAIN)
    calls = Operation.objects.filter(pk=stuck.pk)
    calls.update(state=State.WORKING, task_id=stuck.task_id, task_hash="0" * 64)
    sweep(SOON)
    assert state_of(stuck) == State.WORKING


def test_a_call_that_waited_long_for_approval_is_as_old_as_it_was_sent(server: Server) -> None:
    due = {"task_id": "task-0001", "due_at": LATER}
    waited = OperationFactory(server=server, state=State.WORKING, created_at=LONG_AGO, **due)
    AttemptFactory(operation=waited, sent_at=LATER)
    sweep(SOON)
    assert state_of(waited) == State.WORKING
