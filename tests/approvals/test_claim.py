"""Claim, give back, take over: one person at a time, and never for ever."""

from datetime import timedelta
from uuid import uuid4

import pytest

from approvals import binding, claim
from approvals.claim import LASTS, Claimed, Released
from approvals.decide import Said, decide
from approvals.models import Approval, ApprovalState, Choice, Comment, Verdict
from approvals.outcomes import Missing, Refused, Voted
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.models import Event
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import LATER, a_gate, say
from tests.factories import NOW, TeamFactory

pytestmark = pytest.mark.django_db

QUORUM = {"quorum": 2}


def _kinds(approval: Approval) -> list[str]:
    kinds = Event.objects.filter(approval_id=approval.pk).order_by("id")
    return [kind for kind in kinds.values_list("kind", flat=True) if kind != "approval.opened"]


def _held_by(approval: Approval, member: Member) -> bool:
    found = Approval.objects.get(pk=approval.pk)
    return claim.holder(found, NOW) == member.user


# --- claim


def test_it_is_claimed_for_a_quarter_of_an_hour(ask: Ask, approver: Member) -> None:
    approval = ask()
    assert claim.claim(approval.pk, member=approver, now=NOW) == Claimed(NOW + LASTS)
    assert timedelta(minutes=15) == LASTS
    assert _held_by(approval, approver)
    assert _kinds(approval) == ["approval.claimed"]


def test_claiming_again_begins_the_time_again_and_is_no_second_line(
    ask: Ask, approver: Member
) -> None:
    approval, later = ask(), NOW + timedelta(minutes=10)
    claim.claim(approval.pk, member=approver, now=NOW)
    assert claim.claim(approval.pk, member=approver, now=later) == Claimed(later + LASTS)
    assert _kinds(approval) == ["approval.claimed"]


def test_while_it_lasts_nobody_else_can_claim_it_and_then_anybody_can(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, other = ask(), join()
    claim.claim(approval.pk, member=approver, now=NOW)
    refused = claim.claim(approval.pk, member=other, now=NOW + LASTS - timedelta(seconds=1))
    assert isinstance(refused, Refused)
    assert str(approver.user) in refused.sentence
    assert isinstance(claim.claim(approval.pk, member=other, now=NOW + LASTS), Claimed)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AUDITOR])
def test_only_those_it_was_put_to_can_claim_it(ask: Ask, join: Join, role: Role) -> None:
    assert claim.claim(ask().pk, member=join(role), now=NOW) == Refused(claim.NOT_YOURS)


def test_a_role_that_was_lost_meanwhile_claims_nothing(ask: Ask, approver: Member) -> None:
    approval = ask()
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    assert claim.claim(approval.pk, member=approver, now=NOW) == Refused(claim.NOT_YOURS)


def test_whoever_started_it_cannot_claim_what_needs_four_eyes(operator: Member) -> None:
    approval = a_gate(operator)
    assert claim.claim(approval.pk, member=operator, now=NOW) == Refused(claim.NOT_YOURS)


def test_what_several_have_to_decide_is_nobodys_alone(operator: Member, approver: Member) -> None:
    approval = a_gate(operator, QUORUM)
    assert claim.claim(approval.pk, member=approver, now=NOW) == Refused(claim.SEVERAL_DECIDE)


def test_what_nobody_can_answer_is_nothing_to_work_on(ask: Ask, approver: Member) -> None:
    approval = ask(method="sampling/createMessage", problem="This desk does not offer that.")
    assert claim.claim(approval.pk, member=approver, now=NOW) == Refused(claim.NOBODY_ANSWERS)
    assert _kinds(approval) == []


def test_what_is_over_cannot_be_claimed(ask: Ask, approver: Member) -> None:
    approval = ask()
    Approval.objects.update(state=ApprovalState.WITHDRAWN, closed_at=NOW)
    for verb in (claim.claim, claim.release):
        assert verb(approval.pk, member=approver, now=NOW) == Refused(claim.OVER)
    taken = claim.take_over(approval.pk, member=approver, reason="now", now=NOW)
    assert taken == Refused(claim.OVER)


def test_another_teams_item_does_not_exist(ask: Ask, join: Join, approver: Member) -> None:
    stranger = join(Role.ADMIN, team=TeamFactory())
    assert claim.claim(ask().pk, member=stranger, now=NOW) == Missing()
    assert claim.claim(uuid4(), member=approver, now=NOW) == Missing()


# --- give back


def test_it_is_given_back_and_free_for_all(ask: Ask, approver: Member, join: Join) -> None:
    approval = ask()
    claim.claim(approval.pk, member=approver, now=NOW)
    assert claim.release(approval.pk, member=approver, now=NOW) == Released()
    assert isinstance(claim.claim(approval.pk, member=join(), now=NOW), Claimed)
    assert _kinds(approval) == ["approval.claimed", "approval.released", "approval.claimed"]


def test_only_ones_own_claim_is_given_back_and_only_once(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval = ask()
    claim.claim(approval.pk, member=approver, now=NOW)
    assert claim.release(approval.pk, member=join(), now=NOW) == Refused(claim.NOT_CLAIMED_BY_YOU)
    claim.release(approval.pk, member=approver, now=NOW)
    again = claim.release(approval.pk, member=approver, now=NOW)
    assert again == Refused(claim.NOT_CLAIMED_BY_YOU)


def test_a_claim_that_ended_by_itself_is_given_back_without_a_line(
    ask: Ask, approver: Member
) -> None:
    approval = ask()
    claim.claim(approval.pk, member=approver, now=NOW)
    assert claim.release(approval.pk, member=approver, now=NOW + LASTS) == Released()
    assert _kinds(approval) == ["approval.claimed"]


# --- take over


def test_taking_over_needs_a_note_that_the_other_is_told_of(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, other = ask(), join()
    claim.claim(approval.pk, member=approver, now=NOW)
    refused = claim.take_over(approval.pk, member=other, reason=" ", now=NOW)
    assert refused == Refused(claim.NEEDS_NOTE)
    assert _held_by(approval, approver)
    taken = claim.take_over(approval.pk, member=other, reason="The release waits", now=NOW)
    assert taken == Claimed(NOW + LASTS)
    assert _held_by(approval, other)
    comment = Comment.objects.get()
    assert (comment.text, comment.user) == ("The release waits", other.user)
    assert list(comment.mentions.all()) == [approver.user]
    event = Event.objects.get(kind="approval.taken_over")
    assert event.data == {"person": str(approver.user), "person_id": approver.user_id}


@pytest.mark.parametrize("note", ["x" * 2001, "\x00"])
def test_a_note_that_cannot_be_kept_takes_nothing_over(
    ask: Ask, approver: Member, join: Join, note: str
) -> None:
    approval = ask()
    claim.claim(approval.pk, member=approver, now=NOW)
    assert isinstance(claim.take_over(approval.pk, member=join(), reason=note, now=NOW), Refused)
    assert _held_by(approval, approver)


def test_there_is_nothing_to_take_over_from_nobody_or_oneself(ask: Ask, approver: Member) -> None:
    approval = ask()
    for _ in range(2):
        taken = claim.take_over(approval.pk, member=approver, reason="mine", now=NOW)
        assert isinstance(taken, Refused)
        claim.claim(approval.pk, member=approver, now=NOW)


# --- deciding


def test_a_decision_of_somebody_else_is_refused_while_the_claim_lasts(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, other = a_gate(operator), join()
    claim.claim(approval.pk, member=approver, now=NOW)
    refused = say(approval, other, Verdict.DENY)
    assert isinstance(refused, Refused)
    assert "take it over with a note" in refused.sentence
    assert isinstance(say(approval, approver), Voted)


def test_once_the_claim_has_ended_anybody_decides(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, other = a_gate(operator), join()
    claim.claim(approval.pk, member=approver, now=NOW)
    assert isinstance(say(approval, other, now=NOW + LASTS), Voted)


@pytest.mark.parametrize("choice", list(Choice))
def test_no_answer_of_anybody_else_is_taken_either(
    ask: Ask, approver: Member, join: Join, choice: Choice
) -> None:

    approval, other = ask(), join()
    claim.claim(approval.pk, member=approver, now=NOW)
    token = binding.bind(approval, user_id=other.user_id, now=NOW)
    refused = decide(approval.pk, member=other, said=Said(choice, token), now=LATER)
    assert isinstance(refused, Refused)
    assert str(approver.user) in refused.sentence
