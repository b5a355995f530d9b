"""Deciding a gate: the effect, every refusal, four eyes on every path, the people who change."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from approvals import clockwork, intake, selectors
from approvals.decide import Said, decide
from approvals.models import Approval, ApprovalState, Choice, Verdict, Vote
from approvals.outcomes import AlreadyAnswered, Ended, Lost, Missing, Refused, Voted
from approvals.policy import Approved, Denied, Waiting
from approvals.verdict import (
    FOUR_EYES,
    LONG_REASON,
    NEEDS_REASON,
    NO_GATE,
    NO_POLICY,
    NOT_YOURS,
    OVERDUE,
    SAID_BEFORE,
)
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, User
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Event
from tasks_monitor.engine.cancel import request_cancel
from tasks_monitor.models import Delivery
from tasks_monitor.states import State
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import LATER, a_gate, request, say, token
from tests.factories import NOW, ServerFactory

pytestmark = pytest.mark.django_db

TWO = {"quorum": 2}
LONG = {"text": "x" * 1000}


def _state(approval: Approval) -> tuple[str, str]:
    approval.refresh_from_db()
    approval.operation.refresh_from_db()
    return approval.state, approval.operation.state


def _nothing_was_written(approval: Approval) -> bool:
    waits = (ApprovalState.OPEN, State.AWAITING_APPROVAL)
    return _state(approval) == waits and not Vote.objects.exists()


# --- the effect


def test_approved_the_call_is_due(operator: Member, approver: Member) -> None:
    approval = a_gate(operator)
    outcome = say(approval, approver)
    assert isinstance(outcome, Voted)
    assert outcome.came_to == Approved((approver.user_id,))
    assert _state(approval) == (ApprovalState.DECIDED, State.READY)
    assert approval.operation.due_at == LATER
    assert (approval.decision, approval.decided_by) == (Verdict.APPROVE, approver.user)


def test_denied_it_is_never_sent(operator: Member, approver: Member) -> None:
    approval = a_gate(operator)
    assert isinstance(say(approval, approver, Verdict.DENY, reason="not on a Friday"), Voted)
    assert _state(approval) == (ApprovalState.DECIDED, State.DENIED)
    assert Vote.objects.get().reason == "not on a Friday"


def test_the_log_says_who_said_what_and_not_why(operator: Member, approver: Member) -> None:
    approval = a_gate(operator)
    say(approval, approver, Verdict.DENY, reason="SECRET-WORD")
    events = Event.objects.filter(approval_id=approval.pk).order_by("id")
    assert [event.kind for event in events] == [
        "approval.opened",
        "approval.voted",
        "approval.decided",
    ]
    assert events[1].actor == approver.user
    assert not any("SECRET-WORD" in str(event.data) for event in Event.objects.all())


def test_two_are_needed_and_the_first_one_is_told_how_many_are_missing(
    operator: Member, approver: Member, join: Join
) -> None:
    approval = a_gate(operator, TWO)
    first = say(approval, approver)
    assert isinstance(first, Voted)
    assert first.came_to == Waiting(1, 2)
    assert _state(approval) == (ApprovalState.OPEN, State.AWAITING_APPROVAL)
    second = say(approval, join())
    assert isinstance(second, Voted)
    assert isinstance(second.came_to, Approved)
    assert _state(approval)[1] == State.READY


def test_one_refusal_refuses_after_an_approval(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, second = a_gate(operator, TWO), join()
    say(approval, approver)
    outcome = say(approval, second, Verdict.DENY)
    assert isinstance(outcome, Voted)
    assert outcome.came_to == Denied(second.user_id)
    assert _state(approval)[1] == State.DENIED


def test_a_person_counts_once_and_may_change_their_word_until_it_is_decided(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, TWO)
    say(approval, approver)
    assert say(approval, approver) == Refused(SAID_BEFORE)
    assert Vote.objects.count() == 1
    assert isinstance(say(approval, approver, Verdict.DENY), Voted)
    assert _state(approval)[1] == State.DENIED


def test_who_has_approved_does_not_find_it_in_the_list_or_the_badge_again(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, other = a_gate(operator, TWO), join()
    say(approval, approver)
    assert selectors.badge_count(approver) == 0
    assert list(selectors.waiting_for(other, LATER)) == [approval]


# --- four eyes


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMIN])
@pytest.mark.parametrize("superuser", [False, True])
def test_whoever_started_it_cannot_approve_it_whatever_they_are(
    join: Join, role: Role, superuser: bool
) -> None:
    starter = join(role)
    User.objects.filter(pk=starter.user_id).update(is_superuser=superuser, is_staff=superuser)
    approval = a_gate(starter)
    assert say(approval, starter) == Refused(FOUR_EYES)
    assert say(approval, starter, Verdict.DENY) == Refused(FOUR_EYES)
    assert _nothing_was_written(approval)
    assert selectors.badge_count(starter) == 0


def test_named_among_the_people_or_made_an_approver_the_starter_still_cannot(
    operator: Member, approver: Member
) -> None:
    people = {"audience": "people", "people": [operator.user_id, approver.user_id]}
    approval = a_gate(operator, people)
    Membership.objects.filter(user=operator.user).update(role=Role.APPROVER)
    assert say(approval, operator) == Refused(FOUR_EYES)
    assert isinstance(say(approval, approver), Voted)


def test_without_four_eyes_whoever_starts_it_confirms_it_themselves(operator: Member) -> None:
    approval = a_gate(operator, {"audience": "requester", "four_eyes": False})
    assert isinstance(say(approval, operator), Voted)
    assert _state(approval)[1] == State.READY


# --- who may


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUDITOR, Role.OPERATOR])
def test_a_role_that_it_was_not_put_to_does_not_decide(
    operator: Member, join: Join, role: Role
) -> None:
    approval = a_gate(operator)
    assert say(approval, join(role)) == Refused(NOT_YOURS)
    assert _nothing_was_written(approval)


def test_named_people_decide_and_other_approvers_do_not(
    operator: Member, approver: Member, join: Join
) -> None:
    named = join(Role.OPERATOR)
    approval = a_gate(operator, {"audience": "people", "people": [named.user_id]})
    assert say(approval, approver) == Refused(NOT_YOURS)
    assert isinstance(say(approval, named), Voted)


def test_a_superuser_without_the_role_gets_no_way_around(operator: Member, join: Join) -> None:
    viewer = join(Role.VIEWER)
    User.objects.filter(pk=viewer.user_id).update(is_superuser=True)
    assert say(a_gate(operator), viewer) == Refused(NOT_YOURS)


def test_a_role_taken_away_after_the_vote_takes_the_vote_with_it(
    operator: Member, approver: Member, join: Join
) -> None:
    approval = a_gate(operator, TWO)
    say(approval, approver)
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    outcome = say(approval, join())
    assert isinstance(outcome, Voted)
    assert outcome.came_to == Waiting(1, 2)
    assert _state(approval)[1] == State.AWAITING_APPROVAL


def _become_enough(approval: Approval, first: Member, second: Member) -> None:
    """Two approve, and the word of one of them counts again only after the other's."""
    say(approval, first)
    Membership.objects.filter(user=first.user).update(role=Role.VIEWER)
    say(approval, second)
    Membership.objects.filter(user=first.user).update(role=Role.APPROVER)


def test_a_vote_counts_again_with_the_role_and_is_then_enough(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, second = a_gate(operator, TWO), join()
    _become_enough(approval, approver, second)
    assert isinstance(say(approval, second), Voted)
    assert _state(approval)[1] == State.READY


def test_a_refusal_refuses_also_where_the_votes_had_become_enough_by_themselves(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, second = a_gate(operator, TWO), join()
    _become_enough(approval, approver, second)
    third = join()
    outcome = say(approval, third, Verdict.DENY, reason="Not today")
    assert isinstance(outcome, Voted)
    assert outcome.came_to == Denied(third.user_id)
    assert _state(approval) == (ApprovalState.DECIDED, State.DENIED)
    assert approval.decision == Verdict.DENY


def test_a_deactivated_persons_vote_no_longer_counts(
    operator: Member, approver: Member, join: Join
) -> None:
    approval = a_gate(operator, TWO)
    say(approval, approver)
    User.objects.filter(pk=approver.user_id).update(is_active=False)
    outcome = say(approval, join())
    assert isinstance(outcome, Voted)
    assert outcome.came_to == Waiting(1, 2)
    assert say(approval, approver) == Missing()


def test_another_teams_gate_does_not_exist(operator: Member, join: Join) -> None:
    stranger = join(Role.ADMIN, team=ServerFactory().team)
    approval = a_gate(operator)
    assert say(approval, stranger) == Missing()
    approval.pk = uuid4()
    assert say(approval, stranger, token="x") == Missing()


@pytest.mark.parametrize("audience", ["requester", "approvers", "people"])
@pytest.mark.parametrize("four_eyes", [False, True])
@pytest.mark.parametrize("starts_as", [Role.OPERATOR, Role.ADMIN])
def test_the_list_of_who_may_decide_agrees_with_asking_each_of_them(
    join: Join, audience: str, four_eyes: bool, starts_as: Role
) -> None:
    starter, *others = [join(starts_as), *map(join, Role), join(team=ServerFactory().team)]
    User.objects.filter(pk=join(Role.ADMIN).user_id).update(is_active=False)
    approval = a_gate(starter, {"four_eyes": False})
    Approval.objects.update(audience=audience, four_eyes=four_eyes)
    approval.refresh_from_db()
    if audience == "people":
        approval.people.set([starter.user_id, *(one.user_id for one in others)])
    asked = {one.user_id for one in (starter, *others) if access.may_decide(one, approval)}
    assert {user.pk for user in access.deciders(approval).users} == asked


def test_a_policy_that_cannot_be_read_lets_nobody_decide(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator)
    Approval.objects.update(policy={"ask": {"quorum": "two"}})
    for verdict in Verdict:
        assert say(approval, approver, verdict) == Refused(NO_POLICY)
    assert _nothing_was_written(approval)


# --- the binding


def test_a_form_of_somebody_else_or_of_nobody_is_refused(
    operator: Member, approver: Member, join: Join
) -> None:
    approval = a_gate(operator)
    for proof in (token(approval, join()), "", "x:y", token(a_gate(operator), approver)):
        outcome = say(approval, approver, token=proof or "none")
        assert isinstance(outcome, Refused)
    assert _nothing_was_written(approval)


def test_a_form_that_showed_another_policy_or_other_arguments_is_refused(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator)
    proof = token(approval, approver)
    Approval.objects.update(policy={"ask": {"quorum": 3}})
    outcome = say(approval, approver, token=proof)
    assert isinstance(outcome, Refused)
    assert "changed" in outcome.sentence


# --- what has to be said


def test_denying_needs_a_reason_and_approving_does_not(operator: Member, approver: Member) -> None:
    approval = a_gate(operator)
    assert say(approval, approver, Verdict.DENY, reason=" ") == Refused(NEEDS_REASON)
    assert say(approval, approver, reason="x" * 501) == Refused(LONG_REASON)
    assert say(approval, approver, reason="\x00") == Refused(LONG_REASON)
    assert _nothing_was_written(approval)


def test_what_was_folded_has_to_be_read_before_it_is_approved_and_not_before_it_is_denied(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, arguments=LONG)
    refused = say(approval, approver, opened=frozenset({"argument-2", "message"}))
    assert isinstance(refused, Refused)
    assert "1 folded value is not opened yet" in refused.sentence
    assert _nothing_was_written(approval)
    assert isinstance(say(approval, approver, opened=frozenset({"argument-1"})), Voted)
    assert isinstance(say(a_gate(operator, arguments=LONG), approver, Verdict.DENY), Voted)


# --- being late


def test_the_second_word_is_told_who_was_first(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, late = a_gate(operator), join()
    say(approval, approver)
    assert say(approval, late) == Lost(approver.user.name, Verdict.APPROVE, LATER)
    assert say(approval, approver) == AlreadyAnswered(Verdict.APPROVE, LATER)
    assert Vote.objects.count() == 1


def test_after_the_deadline_nobody_approves_even_before_the_clock_came_round(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, {"deadline_s": 60})
    assert say(approval, approver, now=NOW + timedelta(seconds=60)) == Refused(OVERDUE)
    assert _nothing_was_written(approval)


@pytest.mark.parametrize(
    ("at_deadline", "ends_as"), [("expire", State.EXPIRED), ("deny", State.DENIED)]
)
def test_the_clock_ends_it_as_the_rule_says_and_in_nobodys_name(
    operator: Member, approver: Member, at_deadline: str, ends_as: State
) -> None:
    approval = a_gate(operator, {"deadline_s": 60, "at_deadline": at_deadline, "quorum": 2})
    say(approval, approver, now=NOW + timedelta(seconds=1))
    clockwork.look(NOW + timedelta(seconds=59))
    assert Approval.objects.get().is_open
    clockwork.look(NOW + timedelta(seconds=60))
    assert clockwork.look(NOW + timedelta(hours=9)) == 0
    assert _state(approval) == (ApprovalState.EXPIRED, ends_as)
    assert (approval.decision, approval.decided_by) == ("", None)
    assert Event.objects.get(kind="operation.moved").actor is None
    assert isinstance(say(approval, approver), Ended)


def test_cancelling_closes_the_gate_and_nobody_approves_it_any_more(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator)
    proof = token(approval, approver)
    request_cancel(approval.operation_id, actor=Actor.person(operator), now=LATER)
    refused = say(approval, approver, token=proof)
    assert isinstance(refused, Refused)
    intake.take_in(approval.operation_id, now=LATER)
    assert _state(approval) == (ApprovalState.CLOSED, State.CANCELLED)
    assert isinstance(say(approval, approver), Ended)


# --- two questions


def test_a_gate_takes_no_answer_and_a_question_no_verdict(
    ask: Ask, operator: Member, approver: Member
) -> None:
    gate, question = a_gate(operator), ask()
    said = Said(Choice.ACCEPT, token(gate, approver))
    assert isinstance(decide(gate.pk, member=approver, said=said, now=LATER), Refused)
    assert say(question, approver) == Refused(NO_GATE)
    assert _nothing_was_written(gate)
    assert not Delivery.objects.exists()


def test_approving_the_gate_answers_no_question_of_the_same_operation(
    ask: Ask, operator: Member, approver: Member
) -> None:
    gate = a_gate(operator)
    say(gate, approver)
    question = ask(operation=gate.operation)
    assert question.is_open
    assert not Delivery.objects.exists()


def test_a_gate_is_never_made_twice_for_one_operation(operator: Member) -> None:
    made: Any = request(operator)
    copy = Approval.objects.get(pk=made.approval.pk)
    copy.pk = uuid4()
    with pytest.raises(Exception, match="one_open_gate_per_operation"):
        copy.save(force_insert=True)
