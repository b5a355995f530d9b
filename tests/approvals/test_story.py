"""The timeline of an item: one act is one line."""

from datetime import timedelta

import pytest
from django.db import transaction

from approvals import clockwork, selectors, story, votes
from approvals.models import Approval, ApprovalState, Verdict
from mcpdesk.accounts.access import Member
from tests.approvals.conftest import Join
from tests.approvals.gates import LATER, a_gate, say

pytestmark = pytest.mark.django_db


def _lines(approval: Approval) -> list[str]:
    fresh = Approval.objects.get(pk=approval.pk)
    version = votes.counted_version(fresh)
    found = story.lines(selectors.timeline(fresh), list(fresh.votes.all()), version)
    return [line.sentence for line in found]


def test_an_approval_is_one_line_beside_what_became_of_the_call(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator)
    say(approval, approver)
    lines = _lines(approval)
    assert lines.count(f"{approver.user} approved it, and so it was decided") == 1
    assert not any(line.startswith(("Decided:", f"{approver.user} said")) for line in lines)
    assert any("Approved at the gate" in line for line in lines)


def test_a_word_that_is_not_enough_says_how_far_it_has_come(
    operator: Member, approver: Member, join: Join
) -> None:
    approval = a_gate(operator, {"quorum": 2})
    say(approval, approver)
    assert f"{approver.user} approved it: 1 of 2" in _lines(approval)
    say(approval, join(), now=LATER + timedelta(minutes=1))
    assert sum("approved it" in line for line in _lines(approval)) == 2


def test_a_denial_is_one_line(operator: Member, approver: Member) -> None:
    approval = a_gate(operator)
    say(approval, approver, Verdict.DENY)
    assert f"{approver.user} denied it, and so it was decided" in _lines(approval)


EARLIER = "(before it changed: this counts no more)"


def test_what_was_said_before_the_item_changed_is_marked_and_what_counts_is_not(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, second = a_gate(operator, {"quorum": 2}), join()
    say(approval, approver)
    assert f"{approver.user} approved it: 1 of 2" in _lines(approval)
    with transaction.atomic():
        votes.begin_again(approval.operation.server_id)
    assert f"{approver.user} approved it: 1 of 2 {EARLIER}" in _lines(approval)
    say(approval, approver, now=LATER + timedelta(minutes=1))
    say(approval, second, now=LATER + timedelta(minutes=2))
    lines = _lines(approval)
    assert [line for line in lines if EARLIER in line] == [
        f"{approver.user} approved it: 1 of 2 {EARLIER}"
    ]
    assert f"{second.user} approved it, and so it was decided" in lines


def test_a_word_that_was_taken_back_on_the_same_version_is_no_earlier_one(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, {"quorum": 2})
    say(approval, approver)
    say(approval, approver, Verdict.DENY, now=LATER + timedelta(minutes=1))
    lines = _lines(approval)
    assert f"{approver.user} approved it: 1 of 2" in lines
    assert not any(EARLIER in line for line in lines)


def test_words_on_an_item_that_expired_are_not_taken_for_earlier_ones(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, {"quorum": 2, "deadline_s": 600})
    say(approval, approver)
    clockwork.look(LATER + timedelta(hours=1))
    approval.refresh_from_db()
    assert approval.state == ApprovalState.EXPIRED
    assert f"{approver.user} approved it: 1 of 2" in _lines(approval)
