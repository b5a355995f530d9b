"""After the consent to open a link: done there, or not; the server sees by itself."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import binding, claim, opening
from approvals.comments import Commented
from approvals.decide import Said, decide
from approvals.models import Approval, ApprovalState, Choice, Comment
from approvals.opening import AskedAgain, Looking
from approvals.outcomes import DONE, Missing, Refused
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.models import Event
from tasks_monitor.models import Delivery, InputRequestSource, Operation
from tasks_monitor.states import State
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW, TeamFactory, url_params

pytestmark = pytest.mark.django_db

URL = "https://pay.example.com/x"
LATER = NOW + timedelta(minutes=5)


def _agree(approval: Approval, member: Member) -> None:
    token = binding.bind(approval, user_id=member.user_id, now=NOW)
    outcome = decide(approval.pk, member=member, said=Said(Choice.ACCEPT, token), now=NOW)
    assert isinstance(outcome, DONE)


def _agreed(ask: Ask, member: Member, **more: Any) -> Approval:
    approval = ask(params=url_params(URL), **more)
    _agree(approval, member)
    return approval


def _page(member: Member, approval: Approval) -> str:
    client = Client()
    client.force_login(member.user)
    return client.get(reverse("inbox_item", args=[approval.pk])).content.decode()


def _post(member: Member, name: str, approval: Approval, **fields: str) -> Any:
    client = Client()
    client.force_login(member.user)
    return client.post(reverse(name, args=[approval.pk]), fields)


# --- done


def test_a_task_is_looked_at_as_soon_as_the_server_allows(ask: Ask, approver: Member) -> None:
    approval = _agreed(ask, approver, source=InputRequestSource.TASK)
    allowed = LATER + timedelta(seconds=7)
    Operation.objects.update(
        state=State.WORKING,
        task_hash="x",
        due_at=LATER + timedelta(hours=1),
        poll_not_before=allowed,
    )
    assert opening.finished(approval.pk, member=approver, now=LATER) == Looking()
    assert Operation.objects.get().due_at == allowed


def test_a_call_that_waits_out_a_pause_is_made_again_at_once(ask: Ask, approver: Member) -> None:
    approval = _agreed(ask, approver)
    Operation.objects.update(state=State.READY, due_at=LATER + timedelta(seconds=30))
    assert opening.finished(approval.pk, member=approver, now=LATER) == Looking()
    assert Operation.objects.get().due_at == LATER


def test_the_very_same_link_asked_for_again_is_agreed_to_again(ask: Ask, approver: Member) -> None:
    approval = _agreed(ask, approver)
    Operation.objects.update(state=State.INPUT_REQUIRED, round=2)
    again = ask(params=url_params(URL), operation=approval.operation, round=2)
    assert opening.finished(approval.pk, member=approver, now=LATER) == Looking()
    again.refresh_from_db()
    assert (again.decision, again.decided_by) == (Choice.ACCEPT, approver.user)
    assert Delivery.objects.get(input_request=again.input_request).response == {"action": "accept"}


@pytest.mark.parametrize(
    "params", [url_params("https://evil.example/"), url_params(URL, "Now give us more")]
)
def test_another_link_is_read_first_and_nothing_is_agreed_to(
    ask: Ask, approver: Member, params: dict[str, Any]
) -> None:
    approval = _agreed(ask, approver)
    Operation.objects.update(state=State.INPUT_REQUIRED, round=2)
    again = ask(params=params, operation=approval.operation, round=2)
    assert opening.finished(approval.pk, member=approver, now=LATER) == AskedAgain(again)
    again.refresh_from_db()
    assert again.state == ApprovalState.OPEN
    response = _post(approver, "inbox_link_finished", approval)
    assert response["Location"] == reverse("inbox_item", args=[again.pk])


def test_what_somebody_else_has_claimed_is_not_agreed_to_in_passing(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval = _agreed(ask, approver)
    Operation.objects.update(state=State.INPUT_REQUIRED, round=2)
    again = ask(params=url_params(URL), operation=approval.operation, round=2)
    claim.claim(again.pk, member=join(), now=LATER)
    assert opening.finished(approval.pk, member=approver, now=LATER) == AskedAgain(again)


@pytest.mark.parametrize("state", [State.CALLING, State.COMPLETED, State.CANCELLED])
def test_there_is_nothing_to_look_at_while_the_call_runs_or_once_it_is_over(
    ask: Ask, approver: Member, state: State
) -> None:
    approval = _agreed(ask, approver)
    Operation.objects.update(state=state, due_at=None)
    assert isinstance(opening.finished(approval.pk, member=approver, now=LATER), Refused)


def test_only_whoever_agreed_says_what_came_of_it(ask: Ask, approver: Member, join: Join) -> None:
    approval = _agreed(ask, approver)
    for verb in (opening.finished, lambda pk, **more: opening.failed(pk, words="", **more)):
        assert verb(approval.pk, member=join(), now=LATER) == Refused(opening.NOT_YOURS)
        stranger = join(Role.ADMIN, team=TeamFactory())
        assert verb(approval.pk, member=stranger, now=LATER) == Missing()


def test_who_decides_nothing_any_more_makes_no_call_go_on(ask: Ask, approver: Member) -> None:
    approval = _agreed(ask, approver)
    Operation.objects.update(state=State.READY, due_at=LATER + timedelta(seconds=30))
    viewer = replace(approver, role=Role.VIEWER)
    assert opening.finished(approval.pk, member=viewer, now=LATER) == Refused(opening.NOT_YOURS)
    assert Operation.objects.get().due_at != LATER
    assert not Event.objects.filter(kind="operation.check_requested").exists()


@pytest.mark.parametrize("choice", [Choice.DECLINE, Choice.CANCEL])
def test_what_nobody_agreed_to_has_not_been_opened(
    ask: Ask, approver: Member, choice: Choice
) -> None:
    approval = ask(params=url_params(URL))
    assert opening.finished(approval.pk, member=approver, now=NOW) == Refused(opening.NOT_YOURS)
    token = binding.bind(approval, user_id=approver.user_id, now=NOW)
    decide(approval.pk, member=approver, said=Said(choice, token), now=NOW)
    assert opening.finished(approval.pk, member=approver, now=NOW) == Refused(opening.NOT_YOURS)


# --- not done


def test_it_did_not_work_is_written_down_and_told(ask: Ask, approver: Member) -> None:
    approval = _agreed(ask, approver)
    outcome = opening.failed(approval.pk, member=approver, words=" A blank page ", now=LATER)
    assert isinstance(outcome, Commented)
    assert outcome.comment.text == "The link did not work. A blank page"
    assert Event.objects.get(kind="approval.link_failed").data == {}
    refused = opening.failed(approval.pk, member=approver, words="x" * 2000, now=LATER)
    assert isinstance(refused, Refused)
    assert Comment.objects.count() == 1


# --- the page


def test_after_the_consent_the_page_offers_all_that_can_be_done(
    ask: Ask, approver: Member, operator: Member
) -> None:
    approval = ask(params=url_params(URL))
    assert "I have finished" not in _page(approver, approval)
    _agree(approval, approver)
    page = _page(approver, approval)
    for part in ("I have finished: continue", "It did not work", "can cancel the operation"):
        assert part in page
    assert "I have finished" not in _page(operator, approval)
    Operation.objects.update(state=State.COMPLETED, finished_at=NOW, due_at=None)
    assert "I have finished" not in _page(approver, approval)


def test_asked_for_again_the_same_link_says_so_and_one_goes_on(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval = _agreed(ask, approver)
    Operation.objects.update(state=State.INPUT_REQUIRED, round=2)
    again = ask(params=url_params(URL), operation=approval.operation, round=2)
    page = _page(approver, again)
    assert "the server asks for it again" in page
    assert f'href="{URL}" target="_blank"' in page
    assert "I have finished: continue" in page
    other = _page(join(), again)
    assert "Agree to open it" in other
    assert f'href="{URL}"' not in other


def test_without_javascript_both_are_plain_posts(ask: Ask, approver: Member) -> None:
    approval = _agreed(ask, approver)
    Operation.objects.update(state=State.READY, due_at=NOW + timedelta(days=999))
    for name in ("inbox_link_finished", "inbox_link_failed"):
        response = _post(approver, name, approval, words="no")
        assert response["Location"] == reverse("inbox_item", args=[approval.pk])
    assert Comment.objects.get().text == "The link did not work. no"


def test_who_left_while_the_page_was_open_says_nothing_any_more(ask: Ask, approver: Member) -> None:
    approval = _agreed(ask, approver)
    Membership.objects.filter(user=approver.user).delete()
    outcome = opening.failed(approval.pk, member=approver, words="a blank page", now=LATER)
    assert outcome == Missing()
    assert not Comment.objects.exists()
