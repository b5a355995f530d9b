"""What a row of the inbox says beside its first words, and what a list can be narrowed by."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import rows, selectors, votes
from approvals.filters import Chosen, Filters, Tab
from approvals.models import Approval, Verdict, Vote
from approvals.outcomes import Counted
from mcpdesk.accounts.access import Member, member_in
from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import Answerers, Hold, Operation
from tests.approvals.answers import LATER, confirm, propose, questions_rule
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate, say
from tests.factories import AbsenceFactory

pytestmark = pytest.mark.django_db(transaction=True)


def _row(member: Member, tab: Tab = Tab.MINE) -> rows.Row:
    [approval] = selectors.page(member, Chosen(tab), timezone.now()).rows
    [row] = rows.of(member, tab, [approval], timezone.now())
    return row


def _text(member: Member, path: str = "/inbox/") -> str:
    client = Client()
    client.force_login(member.user)
    return " ".join(client.get(path, headers={"hx-request": "true", "hx-target": "inbox-list"})
                    .content.decode().split())  # fmt: skip


def _found(member: Member, **narrowed: Any) -> list[Approval]:
    chosen = Chosen(Tab.TEAM, Filters(**narrowed))
    return list(selectors.page(member, chosen, timezone.now()).rows)


def test_a_row_says_how_many_of_how_many_have_approved(operator: Member, join: Join) -> None:
    gate, first, second = a_gate(operator, {"quorum": 3}), join(), join()
    join()
    say(gate, first)
    assert "1 of 3 approved" in _text(second)
    # somebody who may no longer decide counts no more
    Membership.objects.filter(user=first.user).update(role=Role.VIEWER)
    assert "0 of 3 approved" in _text(second)


def test_a_row_counts_a_person_and_their_stand_in_once_as_the_item_does(
    operator: Member, join: Join
) -> None:
    gate, away, stand_in, third = a_gate(operator, {"quorum": 3}), join(), join(), join()
    say(gate, away)
    AbsenceFactory(team=operator.team, user=away.user, stand_in=stand_in.user)
    # they stand in, and so their vote is for both
    Vote.objects.create(
        approval=gate,
        user=stand_in.user,
        acted_for=away.user,
        version=gate.version,
        choice=Verdict.APPROVE,
        at=timezone.now(),
    )
    counted = votes.progress(gate, timezone.now())
    assert (counted.count, len(counted.votes)) == (1, 2)
    assert "1 of 3 approved" in _text(third)


def test_a_row_of_a_question_says_how_many_agree_and_that_nobody_approved_it(
    ask: Ask, operator: Member, join: Join
) -> None:
    questions_rule(operator.team, quorum=3)
    question, away, stand_in, third = ask(), join(), join(Role.OPERATOR), join()
    propose(question, away)
    assert "1 of 3 agreed" in _text(third)
    AbsenceFactory(team=operator.team, user=away.user, stand_in=stand_in.user)
    deputy = member_in(stand_in.user, stand_in.team_id, LATER)
    assert deputy is not None
    assert isinstance(confirm(question, deputy), Counted)
    # as on the page of the item: they are one
    question.refresh_from_db()
    assert votes.progress(question, LATER).count == 1
    assert "1 of 3 agreed" in _text(third)
    assert "approved" not in _text(third).partition("1 of 3")[2].partition("</a>")[0]


def test_rows_that_several_agree_to_cost_no_query_each(
    operator: Member, join: Join, django_assert_num_queries: Any
) -> None:
    first, second = join(), join()
    for _ in range(2):
        say(a_gate(operator, {"quorum": 3}), first)
    now = timezone.now()
    few = selectors.page(second, Chosen(), now).rows
    with CaptureQueriesContext(connection) as queries:
        rows.of(second, Tab.MINE, few, now)
    for _ in range(3):
        say(a_gate(operator, {"quorum": 3}), first)
    many = selectors.page(second, Chosen(), now).rows
    with django_assert_num_queries(len(queries)):
        found = rows.of(second, Tab.MINE, many, now)
    assert [row.progress and row.progress.count for row in found] == [1] * 5


def test_one_who_decides_alone_reads_no_progress(operator: Member, approver: Member) -> None:
    a_gate(operator)
    assert _row(approver).progress is None


def test_a_claim_is_named_until_it_ends(operator: Member, approver: Member, join: Join) -> None:
    gate, colleague = a_gate(operator), join()
    until = timezone.now() + timedelta(minutes=5)
    claimed = Approval.objects.filter(pk=gate.pk)
    claimed.update(claimed_by=colleague.user, claimed_until=until)
    assert f"claimed by {colleague.user.name}" in _text(approver)
    assert "claimed by you" in _text(colleague)
    claimed.update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert "claimed by" not in _text(approver)


def test_whoever_stands_in_reads_for_whom(ask: Ask, operator: Member, join: Join) -> None:
    ask(questions_to=Answerers.REQUESTER)
    deputy, now = join(Role.APPROVER), timezone.now()
    AbsenceFactory(
        team=operator.team,
        user=operator.user,
        stand_in=deputy.user,
        starts_at=now - timedelta(days=1),
        ends_at=now + timedelta(days=1),
    )
    fresh = member_in(deputy.user, deputy.team_id)
    assert fresh is not None
    assert _row(fresh).acts_for == operator.user.name
    assert f"· for {operator.user.name}" in _text(deputy)
    assert _row(operator).acts_for == ""


@pytest.mark.parametrize("whole_team", [True, False])
def test_under_a_hold_a_row_says_so_instead_of_a_deadline(
    operator: Member, approver: Member, whole_team: bool
) -> None:
    gate = a_gate(operator, {"deadline_s": 600})
    server = None if whole_team else gate.operation.server
    hold = Hold.objects.create(
        team=gate.team, server=server, reason="x", since=timezone.now(), begun_by=operator.user
    )
    assert _row(approver).on_hold
    assert "on hold" in _text(approver)
    Hold.objects.filter(pk=hold.pk).update(ended_at=timezone.now(), ended_by=operator.user)
    assert not _row(approver).on_hold


def test_a_hold_on_another_server_is_not_said(ask: Ask, operator: Member, approver: Member) -> None:
    a_gate(operator)
    other = ask().operation
    Hold.objects.create(
        team=other.team,
        server=other.server,
        reason="x",
        since=timezone.now(),
        begun_by=operator.user,
    )
    listed = selectors.page(approver, Chosen(), timezone.now()).rows
    held = {
        row.approval.shape: row.on_hold
        for row in rows.of(approver, Tab.MINE, listed, timezone.now())
    }
    assert held == {"run": False, "confirm": True}


def test_a_later_round_and_a_near_deadline_stand_out(ask: Ask, approver: Member) -> None:
    approval = ask(round=2)
    Approval.objects.filter(pk=approval.pk).update(
        deadline_at=timezone.now() + timedelta(minutes=20)
    )
    text = _text(approver)
    assert "round 2" in text
    assert '<span class="near">' in text


def test_lists_narrow_by_starter_claim_time_and_text(
    ask: Ask, operator: Member, approver: Member, join: Join
) -> None:
    by_service, mine, other = ask(started_by=None), ask(started_by=approver.user), ask()
    Operation.objects.filter(pk=other.operation_id).update(reason="Yearly CLOSING")
    soon = timezone.now() + timedelta(minutes=5)
    Approval.objects.filter(pk=mine.pk).update(claimed_by=approver.user, claimed_until=soon)
    Approval.objects.filter(pk=other.pk).update(deadline_at=soon)
    assert _found(approver, starter="service") == [by_service]
    assert _found(approver, starter="me") == [mine]
    assert _found(approver, starter=str(operator.user_id)) == [other]
    assert _found(approver, claimed="me") == _found(approver, claimed="somebody") == [mine]
    assert set(_found(join(), claimed="nobody")) == {by_service, other}
    assert _found(approver, near="yes") == [other]
    assert _found(approver, text="closing") == [other]
    assert set(_found(approver, text=operator.user.name)) == {other}
    assert len(_found(approver, text="deploy_project")) == 3


def test_a_text_that_is_in_an_encrypted_message_alone_finds_nothing(
    ask: Ask, approver: Member
) -> None:
    ask(message="Replace the flux capacitor?")
    assert _found(approver, text="capacitor") == []


def test_a_list_says_by_what_it_is_narrowed(ask: Ask, approver: Member) -> None:
    ask()
    client = Client()
    client.force_login(approver.user)
    page = client.get("/inbox/?tool=x&near=yes").content.decode()
    assert "Narrowed by tool, time left." in page
    assert "Nothing matches these filters." in page
    assert "Nothing waits for you" not in page
    assert "Narrowed" not in client.get("/inbox/").content.decode()
