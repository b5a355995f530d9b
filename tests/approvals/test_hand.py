"""Hand an item to a colleague: only to somebody who may decide it, and they are told."""

from datetime import datetime

import pytest

from approvals import claim, hand, notices
from approvals.claim import LASTS
from approvals.hand import Handed
from approvals.models import Approval, ApprovalState, Comment
from approvals.outcomes import Missing, Refused
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, User
from mcpdesk.audit.models import Event
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate
from tests.factories import NOW, TeamFactory

pytestmark = pytest.mark.django_db


def _hand(approval: Approval, member: Member, to: Member, words: str = "") -> hand.Outcome:
    return hand.hand(approval.pk, member=member, to_user_id=to.user_id, words=words, now=NOW)


def test_the_colleague_has_it_and_is_told(
    ask: Ask, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[User, User]] = []

    def handed(approval: Approval, to: User, by: User, now: datetime) -> None:
        told.append((to, by))

    monkeypatch.setattr(notices, "handed", handed)
    approval, colleague = ask(), join()
    assert _hand(approval, approver, colleague) == Handed(colleague.user, NOW + LASTS)
    approval.refresh_from_db()
    assert claim.holder(approval, NOW) == colleague.user
    assert told == [(colleague.user, approver.user)]
    told = {"person": str(colleague.user), "person_id": colleague.user_id}
    assert Event.objects.get(kind="approval.handed").data == told
    assert not Comment.objects.exists()


def test_words_that_go_along_are_a_comment(ask: Ask, approver: Member, join: Join) -> None:
    approval, colleague = ask(), join()
    _hand(approval, approver, colleague, "You know this service")
    comment = Comment.objects.get()
    assert comment.text == "You know this service"
    assert list(comment.mentions.all()) == [colleague.user]


def test_ones_own_claim_can_be_handed_on_and_handed_back(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, colleague = ask(), join()
    claim.claim(approval.pk, member=approver, now=NOW)
    assert isinstance(_hand(approval, approver, colleague), Handed)
    assert isinstance(_hand(approval, colleague, approver), Handed)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AUDITOR])
def test_nobody_gets_it_who_may_not_decide_it(
    ask: Ask, approver: Member, join: Join, role: Role
) -> None:
    approval = ask()
    assert _hand(approval, approver, join(role)) == Refused(hand.NO_SUCH_COLLEAGUE)
    assert not Event.objects.filter(kind="approval.handed").exists()


def test_nobody_of_another_team_and_nobody_at_all_gets_it(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, stranger = ask(), join(team=TeamFactory())
    assert _hand(approval, approver, stranger) == Refused(hand.NO_SUCH_COLLEAGUE)
    outcome = hand.hand(approval.pk, member=approver, to_user_id=0, now=NOW)
    assert outcome == Refused(hand.NO_SUCH_COLLEAGUE)


def test_whoever_started_it_does_not_get_it_under_four_eyes(
    operator: Member, approver: Member, join: Join
) -> None:
    admin = join(Role.ADMIN)
    approval = a_gate(admin)
    assert _hand(approval, approver, admin) == Refused(hand.NO_SUCH_COLLEAGUE)


def test_it_is_not_handed_to_oneself_nor_past_anothers_claim(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, owner, third = ask(), join(), join()
    assert _hand(approval, approver, approver) == Refused(hand.TO_YOURSELF)
    claim.claim(approval.pk, member=owner, now=NOW)
    refused = _hand(approval, approver, third)
    assert isinstance(refused, Refused)
    assert str(owner.user) in refused.sentence


def test_words_that_cannot_be_kept_hand_nothing(ask: Ask, approver: Member, join: Join) -> None:
    approval = ask()
    assert isinstance(_hand(approval, approver, join(), "x" * 2001), Refused)
    approval.refresh_from_db()
    assert approval.claimed_by is None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AUDITOR])
def test_only_those_it_was_put_to_hand_it(
    ask: Ask, approver: Member, join: Join, role: Role
) -> None:
    assert _hand(ask(), join(role), approver) == Refused(claim.NOT_YOURS)


def test_what_is_over_or_foreign_is_not_handed(ask: Ask, approver: Member, join: Join) -> None:
    approval, colleague = ask(), join()
    stranger = join(Role.ADMIN, team=TeamFactory())
    assert _hand(approval, stranger, colleague) == Missing()
    Approval.objects.update(state=ApprovalState.EXPIRED, closed_at=NOW)
    assert _hand(approval, approver, colleague) == Refused(claim.OVER)
