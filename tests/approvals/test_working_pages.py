"""Claim, hand over and comment on the page: plain posts, and parts that htmx swaps in."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import claim
from approvals.models import Approval, Comment
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate
from tests.factories import MembershipFactory

pytestmark = pytest.mark.django_db

POSTS = ("inbox_claim", "inbox_take_over", "inbox_hand", "inbox_comment")
PARTS = ("inbox_item_work", "inbox_item_beside")


def _browser(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


def _page(member: Member, approval: Approval) -> str:
    return _browser(member).get(reverse("inbox_item", args=[approval.pk])).content.decode()


def _post(member: Member, name: str, approval: Approval, target: str = "", **fields: Any) -> str:
    headers = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": target} if target else {}
    url = reverse(name, args=[approval.pk])
    response = _browser(member).post(url, fields, follow=not target, **headers)
    assert response.status_code == 200
    return response.content.decode()


def test_without_javascript_it_is_claimed_taken_over_and_given_back(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, other = ask(), join()
    assert "It is yours for 15 minutes." in _post(approver, "inbox_claim", approval)
    assert "Take it over…" in _page(other, approval)
    refused = _post(other, "inbox_take_over", approval, note=" ")
    assert "Say why you take it over" in refused
    taken = _post(other, "inbox_take_over", approval, note="The release waits")
    assert "It is yours" in taken
    assert "The release waits" in taken
    assert "You gave it back" in _post(other, "inbox_claim", approval, do="release")


def test_no_work_is_offered_on_what_nobody_can_answer(ask: Ask, approver: Member) -> None:
    page = _page(approver, ask(method="sampling/createMessage", problem="Not offered."))
    assert "Nobody can answer this." in page
    assert "Claim for" not in page
    assert "Hand to a colleague" not in page


def test_with_javascript_only_the_part_changes_and_what_is_typed_stays(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval = ask()
    part = _post(approver, "inbox_claim", approval, "item-work")
    assert part.strip().startswith('<section class="item-work" id="item-work"')
    assert "Give it back" in part
    refused = _post(join(), "inbox_claim", approval, "item-work")
    assert f"{approver.user} has claimed this" in refused
    assert "Take it over…" in refused


def test_it_is_handed_to_a_colleague_from_the_list_of_those_who_may(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, colleague, viewer = ask(), join(), join(Role.VIEWER)
    _, _, choices = _page(approver, approval).partition('id="hand-to"')
    page = choices.partition("</select>")[0]
    assert f'<option value="{colleague.user_id}">' in page
    assert f'<option value="{viewer.user_id}">' not in page
    assert f'<option value="{approver.user_id}">' not in page
    said = _post(approver, "inbox_hand", approval, to=str(colleague.user_id), note="You know it")
    assert f"{colleague.user} has it now" in said
    for made_up in ("", "x", "9" * 40, "-1", str(viewer.user_id)):
        assert "Choose a colleague" in _post(colleague, "inbox_hand", approval, to=made_up)


def test_those_it_was_not_put_to_find_no_claim(ask: Ask, operator: Member, join: Join) -> None:
    approval = ask()
    for member in (operator, join(Role.VIEWER), join(Role.AUDITOR)):
        assert "Claim for 15 min" not in _page(member, approval)


def test_what_several_decide_offers_no_claim(operator: Member, approver: Member) -> None:
    assert "Claim for 15 min" not in _page(approver, a_gate(operator, {"quorum": 2}))


def test_a_comment_is_read_by_those_who_may_read_the_item_and_by_nobody_else(
    ask: Ask, approver: Member, operator: Member, join: Join
) -> None:
    approval, viewer = ask(), join(Role.VIEWER)
    said = _post(approver, "inbox_comment", approval, text=f"<b>Why</b> @{viewer.user}?")
    assert f"{viewer.user} may not read this item and was not told." in said
    assert "&lt;b&gt;Why&lt;/b&gt;" in _page(operator, approval)
    live = reverse("inbox_item_live", args=[approval.pk])
    assert "&lt;b&gt;Why" in _browser(operator).get(live).content.decode()
    for page in (_page(viewer, approval), _browser(viewer).get(live).content.decode()):
        assert "Why" not in page
        assert "Ask or say something" not in page
    _post(viewer, "inbox_comment", approval, text="mine")
    assert Comment.objects.count() == 1


def test_a_comment_that_is_refused_keeps_its_words_beside_the_reason(
    ask: Ask, approver: Member
) -> None:
    part = _post(approver, "inbox_comment", ask(), "item-talk", text="y" * 2001)
    assert "at most 2,000 characters" in part
    assert 'aria-invalid="true"' in part
    assert "y" * 2001 in part


def test_a_sent_comment_empties_its_form(ask: Ask, approver: Member) -> None:
    part = _post(approver, "inbox_comment", ask(), "item-talk", text="Why?")
    assert "Why?</div>" in part
    assert "></textarea>" in part


def test_nothing_of_another_team_can_be_known_or_done(ask: Ask, approver: Member) -> None:
    approval, admin = ask(), MembershipFactory(role=Role.ADMIN)
    browser = Client()
    browser.force_login(admin.user)
    for name in POSTS:
        url = reverse(name, args=[approval.pk])
        assert browser.post(url, {"text": "x", "note": "x"}).status_code == 404
    for name in PARTS:
        assert browser.get(reverse(name, args=[approval.pk])).status_code == 404


def test_folded_values_need_a_tick_each_and_only_for_whom_decides(
    ask: Ask, approver: Member, operator: Member
) -> None:
    approval = ask(
        message="m" * 3000,
        arguments={"a": "x" * 500, "b": "short", "c": "y" * 500},
        fields={"n": {"type": "string", "title": "t" * 400, "description": "d" * 400}},
    )
    page = _page(approver, approval)
    marks = [part.split('"')[0] for part in page.split('name="opened" value="')[1:]]
    assert sorted(marks) == [
        "argument-1",
        "argument-3",
        "field-0-help-whole",
        "field-0-label-whole",
        "message",
    ]
    assert 'name="opened"' not in _page(operator, approval)
    token = page.split('name="binding" value="')[1].split('"')[0]
    url = reverse("inbox_decide", args=[approval.pk])
    posted = {"binding": token, "choice": "accept", "field-0": "z"}
    refused = _browser(approver).post(url, {**posted, "opened": marks[:-1]})
    assert refused.status_code == 422
    assert "1 folded value is not opened yet" in refused.content.decode()
    assert f'value="{marks[0]}" form="item-form" checked' in refused.content.decode()
    assert _browser(approver).post(url, {**posted, "opened": marks}).status_code == 302


def test_saying_no_needs_nothing_opened(ask: Ask, approver: Member) -> None:
    approval = ask(arguments={"a": "x" * 500})
    page = _page(approver, approval)
    token = page.split('name="binding" value="')[1].split('"')[0]
    url = reverse("inbox_decide", args=[approval.pk])
    assert _browser(approver).post(url, {"binding": token, "choice": "decline"}).status_code == 302


def test_claimed_by_somebody_else_what_was_typed_can_still_be_read(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval = ask(fields={"name": {"type": "string"}})
    draft = reverse("inbox_draft", args=[approval.pk])
    _browser(approver).post(draft, {"field-0": "half a wor"})
    claim.claim(approval.pk, member=join(), now=timezone.now())
    page = _page(approver, approval)
    assert 'id="item-form"' not in page
    assert "half a wor" in page
