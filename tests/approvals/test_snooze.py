"""Not now: puts an item aside for one person, sends nothing, and ends by itself."""

from uuid import uuid4

import pytest

from approvals import drafts, intake, question, snooze
from approvals.models import ApprovalState
from approvals.outcomes import Ended, Missing, Refused
from approvals.snooze import ASIDE, Snoozed
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.models import Event
from tasks_monitor.models import Delivery, InputRequest, InputRequestState
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW, TeamFactory

pytestmark = pytest.mark.django_db


def test_it_is_put_aside_for_a_while_and_nothing_is_sent(ask: Ask, approver: Member) -> None:
    approval = ask()
    assert snooze.snooze(approval.pk, member=approver, now=NOW) == Snoozed(NOW + ASIDE)
    approval.refresh_from_db()
    assert approval.state == ApprovalState.OPEN
    assert not Delivery.objects.exists()
    assert Event.objects.get(kind="approval.snoozed").actor == approver.user


def test_putting_aside_again_begins_the_while_again(ask: Ask, approver: Member) -> None:
    approval = ask()
    snooze.snooze(approval.pk, member=approver, now=NOW)
    again = snooze.snooze(approval.pk, member=approver, now=NOW + ASIDE)
    assert again == Snoozed(NOW + 2 * ASIDE)


def test_it_can_be_brought_back_and_keeps_the_draft(ask: Ask, approver: Member) -> None:
    approval = ask(fields={"name": {"type": "string"}})
    asked = question.read(approval.input_request)
    drafts.save(approval, asked, user=approver.user, submitted={"name": "x"}, shown_at=NOW, now=NOW)
    snooze.snooze(approval.pk, member=approver, now=NOW)
    assert snooze.wake(approval.pk, member=approver, now=NOW) == Snoozed(None)
    draft = drafts.load(approval, approver.user)
    assert draft is not None
    assert (draft.submitted, draft.snoozed_until) == ({"name": "x"}, None)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AUDITOR])
def test_what_was_not_put_to_someone_is_not_theirs_to_put_aside(
    ask: Ask, join: Join, role: Role
) -> None:
    outcome = snooze.snooze(ask().pk, member=join(role), now=NOW)
    assert outcome == Refused(snooze.NOT_YOURS)


def test_what_has_ended_cannot_be_put_aside(ask: Ask, approver: Member) -> None:
    approval = ask()
    InputRequest.objects.update(state=InputRequestState.WITHDRAWN, version=2)
    intake.take_in(approval.operation_id, now=NOW)
    outcome = snooze.snooze(approval.pk, member=approver, now=NOW)
    assert outcome == Ended(ApprovalState.WITHDRAWN)


def test_another_teams_item_does_not_exist(ask: Ask, join: Join, approver: Member) -> None:
    stranger = join(Role.ADMIN, team=TeamFactory())
    assert snooze.snooze(ask().pk, member=stranger, now=NOW) == Missing()
    assert snooze.snooze(uuid4(), member=approver, now=NOW) == Missing()


def test_who_left_while_the_page_was_open_puts_nothing_aside(ask: Ask, approver: Member) -> None:
    approval = ask()
    Membership.objects.filter(user=approver.user).delete()
    assert snooze.snooze(approval.pk, member=approver, now=NOW) == Missing()
    assert not Event.objects.filter(kind="approval.snoozed").exists()
