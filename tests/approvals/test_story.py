"""The timeline of an item: one act is one line."""

from datetime import timedelta

import pytest

from approvals import selectors, story
from approvals.models import Approval, Verdict
from mcpdesk.accounts.access import Member
from tests.approvals.conftest import Join
from tests.approvals.gates import LATER, a_gate, say

pytestmark = pytest.mark.django_db


def _lines(approval: Approval) -> list[str]:
    return [line.sentence for line in story.lines(selectors.timeline(approval))]


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
