"""Why one can or cannot act: every reason there is, on the page and in the part that refreshes."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import claim
from approvals.models import Approval, Audience, Choice, Vote
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Absence, Membership, Role
from tasks_monitor.engine import hold
from tasks_monitor.models import Operation
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate, say
from tests.engine.conftest import an_admin
from tests.factories import NOW

pytestmark = pytest.mark.django_db

Happens = Callable[[Approval, Member, Member], None]


def _get(member: Member, approval: Approval, name: str) -> str:
    client = Client()
    client.force_login(member.user)
    response = client.get(reverse(name, args=[approval.pk]))
    assert response.status_code == 200
    return response.content.decode()


def _says(member: Member, approval: Approval, *sentences: str) -> str:
    """What the page says; the part that refreshes says the same."""
    pages = [_get(member, approval, name) for name in ("inbox_item", "inbox_item_live")]
    for page in pages:
        for sentence in sentences:
            assert sentence in page
    return pages[0]


def _claimed_by_other(approval: Approval, member: Member, other: Member) -> None:
    claim.claim(approval.pk, member=other, now=timezone.now())


def _claimed_by_me(approval: Approval, member: Member, other: Member) -> None:
    claim.claim(approval.pk, member=member, now=timezone.now())


def _held(approval: Approval, member: Member, other: Member) -> None:
    actor, now = an_admin(approval.team), timezone.now()
    hold.begin(approval.team_id, None, reason="Incident <7>", actor=actor, now=now)


def _nobody_left(approval: Approval, member: Member, other: Member) -> None:
    Membership.objects.exclude(user=member.user).update(role=Role.VIEWER)
    Approval.objects.update(audience=Audience.ADMINS)


def _cancelling(approval: Approval, member: Member, other: Member) -> None:
    Operation.objects.update(cancel_requested_at=NOW, cancel_requested_by=other.user)


@pytest.mark.parametrize(
    ("happens", "sentence", "can_act"),
    [
        (_claimed_by_other, "has claimed this</strong> until", False),
        (_claimed_by_me, "You have claimed this</strong> until", True),
        (_held, "“Incident &lt;7&gt;”", True),
        (_nobody_left, "Not enough people are left who may decide this.", False),
        (_cancelling, "asked to cancel the operation", True),
    ],
)
@pytest.mark.parametrize("kind", ["gate", "answer"])
def test_it_says_what_stands_in_the_way_or_beside(
    ask: Ask,
    operator: Member,
    approver: Member,
    join: Join,
    kind: str,
    happens: Happens,
    sentence: str,
    can_act: bool,
) -> None:
    approval = a_gate(operator) if kind == "gate" else ask()
    happens(approval, approver, join())
    page = _says(approver, approval, sentence)
    assert ('id="item-form"' in page) is can_act
    assert f'data-can-act="{"yes" if can_act else "no"}"' in page


def test_a_hold_does_not_stop_anybody_from_deciding_and_stops_the_deadline(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator)
    Approval.objects.update(deadline_at=timezone.now() + timedelta(hours=1))
    _held(approval, approver, operator)
    _says(approver, approval, "You can still decide.", "our deadline stands still")


def test_a_stand_in_reads_for_whom_they_act(operator: Member, approver: Member, join: Join) -> None:
    stand_in, now = join(Role.OPERATOR), timezone.now()
    Absence.objects.create(
        team=approver.team,
        user=approver.user,
        stand_in=stand_in.user,
        starts_at=now - timedelta(days=1),
        ends_at=now + timedelta(days=1),
    )
    approval = a_gate(operator)
    _says(stand_in, approval, f"You act for {approver.user}", "You are up.")
    assert "You act for" not in _get(approver, approval, "inbox_item")
    say(approval, stand_in, now=now)
    _says(approver, approval, f"{stand_in.user} (for {approver.user}) approved it")


def _of_two(approval: Approval) -> Approval:
    ask = {"audience": "approvers", "quorum": 2}
    Approval.objects.filter(pk=approval.pk).update(
        policy={"rule": "two", "number": 1, "failed": False, "ask": ask}
    )
    approval.refresh_from_db()
    return approval


def _post(member: Member, approval: Approval, choice: str, **fields: str) -> Any:
    client = Client()
    client.force_login(member.user)
    page = client.get(reverse("inbox_item", args=[approval.pk])).content.decode()
    token = page.split('name="binding" value="')[1].split('"')[0]
    return client.post(
        reverse("inbox_decide", args=[approval.pk]),
        {"binding": token, "choice": choice, **fields},
    )


def test_an_answer_of_two_is_proposed_confirmed_and_said_at_each_step(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval = _of_two(ask(fields={"name": {"type": "string"}}))
    second = join()
    first = _says(approver, approval, "0 of 2 agree", "You propose an answer")
    assert ">Propose <kbd" in first
    assert ">Send <kbd" not in first
    _post(approver, approval, "accept", **{"field-0": "blue"})
    mine = _says(approver, approval, "You agreed to this answer.", "Waiting for 1 more of 2.")
    assert 'value="accept"' not in mine
    theirs = _says(second, approval, f"{approver.user} proposes an answer: you are up.")
    assert 'value="blue"' in theirs
    assert "Confirm exactly this" in theirs
    _post(second, approval, "accept", **{"field-0": "blue"})
    approval.refresh_from_db()
    assert (approval.decision, Vote.objects.count()) == (Choice.ACCEPT, 2)


def test_whoever_wants_another_answer_proposes_it_and_begins_again(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, second = _of_two(ask(fields={"name": {"type": "string"}})), join()
    _post(approver, approval, "accept", **{"field-0": "blue"})
    refused = _post(second, approval, "accept", **{"field-0": "red"})
    assert refused.status_code == 422
    assert f"This is not what {approver.user} proposed." in refused.content.decode()
    _post(second, approval, "propose", **{"field-0": "red"})
    page = _says(approver, approval, f"{second.user} proposes an answer: you are up.")
    assert 'value="red"' in page


def test_whoever_started_it_reads_that_others_answer_under_four_eyes(
    ask: Ask, operator: Member, join: Join
) -> None:
    approval = ask(started_by=operator.user)
    Approval.objects.update(four_eyes=True)
    _says(operator, approval, "You started this: someone else must answer.")


def test_who_could_decide_is_named(operator: Member, join: Join) -> None:
    approval, names = a_gate(operator), sorted(str(join().user) for _ in range(3))
    page = _get(operator, approval, "inbox_item")
    assert f"Could decide it: {', '.join(names)}." in page
