"""Several questions of one call on one page, each with its own audience and its own check."""

import re
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from approvals import beside, claim
from approvals.models import Approval, Audience, Choice
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW, url_params

pytestmark = pytest.mark.django_db

NAME = {"name": {"type": "string", "minLength": 3}}


@pytest.fixture
def first(ask: Ask) -> Approval:
    return ask(key="a")


def _beside(ask: Ask, first: Approval, **more: Any) -> Approval:
    return ask(operation=first.operation, **{"key": "b", **more})


def _page(member: Member, approval: Approval, name: str = "inbox_item") -> str:
    client = Client()
    client.force_login(member.user)
    return client.get(reverse(name, args=[approval.pk])).content.decode()


def _form(page: str, approval: Approval) -> str:
    """The form of a question beside; empty: it has none."""
    _, _, after = page.partition(f'<div class="beside" id="beside-{approval.pk}">')
    here = re.split(r'<div class="beside"|</section>', after)[0]
    return here if 'class="beside-form"' in here else ""


def _answer(member: Member, approval: Approval, page: str, **fields: str) -> HttpResponse:
    """Post the form that stands beside, as a browser without JavaScript would."""
    hidden = dict(re.findall(r'type="hidden" name="(binding|from)" value="([^"]*)"', page))
    client = Client()
    client.force_login(member.user)
    return client.post(
        reverse("inbox_decide", args=[approval.pk]), {**hidden, "choice": "accept", **fields}
    )


def test_what_else_is_asked_is_answered_right_there(
    ask: Ask, first: Approval, approver: Member
) -> None:
    other = _beside(ask, first, fields=NAME, message="And the name?")
    form = _form(_page(approver, first), other)
    assert "And the name?" in form
    assert f'id="q{other.pk}-field-0" name="field-0"' in form
    response = _answer(approver, other, form, **{"field-0": "api"})
    assert response["Location"] == reverse("inbox_item", args=[first.pk])
    other.refresh_from_db()
    assert (other.decision, other.decided_by) == (Choice.ACCEPT, approver.user)
    first.refresh_from_db()
    assert first.is_open


def test_what_is_wrong_with_it_is_said_on_its_own_page_and_nothing_is_lost(
    ask: Ask, first: Approval, approver: Member
) -> None:
    other = _beside(ask, first, fields=NAME)
    response = _answer(approver, other, _form(_page(approver, first), other), **{"field-0": "x"})
    assert response.status_code == 422
    assert 'value="x"' in response.content.decode()
    # what was typed is a draft, and stands beside as well
    assert 'value="x"' in _form(_page(approver, first), other)


def test_each_has_its_own_audience(ask: Ask, first: Approval, approver: Member, join: Join) -> None:
    other = _beside(ask, first, message="Not for approvers")
    Approval.objects.filter(pk=other.pk).update(audience=Audience.REQUESTER)
    page = _page(approver, first)
    assert f"waits for {other.operation.started_by}" in page
    assert not _form(page, other)
    viewer = _page(join(Role.VIEWER), first)
    assert f"waits for {other.operation.started_by}" in viewer
    assert "Not for approvers" not in viewer


def test_it_is_checked_by_itself_with_its_own_token(
    ask: Ask, first: Approval, approver: Member
) -> None:
    other = _beside(ask, first)
    form = _form(_page(approver, first), other)
    response = _answer(approver, first, form)  # the token of the one for the other
    assert response.status_code == 422
    assert "belongs to another question" in response.content.decode()


@pytest.mark.parametrize(
    "more",
    [
        {"params": url_params("https://pay.example.com/")},
        {"message": "long " * 1000},
        {"fields": {"a": {"type": "object"}}},
    ],
)
def test_what_does_not_fit_in_is_answered_on_its_own_page(
    ask: Ask, first: Approval, approver: Member, more: dict[str, Any]
) -> None:
    other = _beside(ask, first, **more)
    page = _page(approver, first)
    assert not _form(page, other)
    assert "Open it to answer" in page
    assert reverse("inbox_item", args=[other.pk]) in page


def test_what_nobody_can_answer_is_named_and_has_no_form(
    ask: Ask, first: Approval, approver: Member
) -> None:
    other = _beside(ask, first, problem="This desk does not offer that.")
    page = _page(approver, first)
    assert "This desk does not offer that." in page
    assert not _form(page, other)
    assert "Open it to answer" not in page


def test_folded_arguments_are_opened_on_the_page_of_the_question(
    ask: Ask, approver: Member
) -> None:
    first = ask(key="a", arguments={"script": "x" * 500})
    other = _beside(ask, first)
    assert not _form(_page(approver, first), other)


def test_what_somebody_has_claimed_has_no_form_for_others(
    ask: Ask, first: Approval, approver: Member, join: Join
) -> None:
    other = _beside(ask, first)
    claim.claim(other.pk, member=join(), now=timezone.now())
    assert not _form(_page(approver, first), other)


def test_only_what_is_open_and_of_the_same_call_is_there(
    ask: Ask, first: Approval, approver: Member
) -> None:
    ask()
    assert beside.of(first, approver, NOW) == []
    assert 'id="item-beside" aria-labelledby="beside-title" hidden' in _page(approver, first)


def test_it_is_a_part_that_refreshes_by_itself(ask: Ask, first: Approval, approver: Member) -> None:
    other = _beside(ask, first)
    part = _page(approver, first, "inbox_item_beside")
    assert part.strip().startswith('<section id="item-beside"')
    assert _form(part, other)


def test_it_costs_the_same_however_many_questions_there_are(
    ask: Ask, first: Approval, approver: Member
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            beside.of(first, approver, NOW)
        return len(found)

    _beside(ask, first)
    before = queries()
    for number in range(5):
        _beside(ask, first, key=f"more-{number}", fields=NAME)
    assert queries() == before


def test_a_made_up_place_to_go_back_to_is_ignored(
    ask: Ask, first: Approval, approver: Member, join: Join
) -> None:
    for place in ("https://evil.example/", "", str(first.operation_id)):
        approval = ask()
        form = _form(_page(approver, approval), approval)
        token = re.search(r'name="binding" value="([^"]*)"', _page(approver, approval))
        assert token is not None
        assert not form
        client = Client()
        client.force_login(approver.user)
        posted = {"binding": token[1], "choice": "accept", "from": place}
        response = client.post(reverse("inbox_decide", args=[approval.pk]), posted)
        assert response["Location"].startswith("/inbox/")
