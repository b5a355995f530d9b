"""Questions in bad faith, all of them: each becomes a page in time, and can be declined.

What a browser makes of the worst of them is in tests/browser/test_hostile_questions.py.
"""

import time
from html import unescape
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import binding
from approvals.models import Approval, ApprovalState, Choice
from mcpdesk.accounts.access import Member
from tests.approvals.conftest import Ask
from tests.factories import form_params
from tests.hostile import ADDRESSES, BREAKOUTS, LINKS, MARKUP, SCHEMAS, SIZES, TRICKS

pytestmark = pytest.mark.django_db

#: The desk's own work for one page or one answer (seconds of this processor).
FAST_S = 2.0
NOTE = {"note": {"type": "string"}}


def _browser(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


def _page(member: Member, approval: Approval) -> str:
    """The item's page, made in time."""
    begun = time.process_time()
    response: HttpResponse = _browser(member).get(reverse("inbox_item", args=[approval.pk]))
    assert time.process_time() - begun < FAST_S
    assert response.status_code == 200
    return response.content.decode(errors="replace")


def _say(member: Member, approval: Approval, choice: str, **typed: str) -> HttpResponse:
    token = binding.bind(approval, user_id=member.user_id, now=timezone.now())
    posted = {"choice": choice, "binding": token, **typed}
    begun = time.process_time()
    answer = _browser(member).post(reverse("inbox_decide", args=[approval.pk]), posted)
    assert time.process_time() - begun < FAST_S
    return answer


def _ends(member: Member, approval: Approval, choice: Choice) -> None:
    """This choice is taken as it is."""
    assert _say(member, approval, choice).status_code == 302
    decided = Approval.objects.get(pk=approval.pk)
    assert (decided.state, decided.decision) == (ApprovalState.DECIDED, choice)


@pytest.mark.parametrize("choice", [Choice.DECLINE, Choice.CANCEL])
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_form_of_any_kind_is_shown_and_can_be_refused(
    ask: Ask, approver: Member, name: str, choice: Choice
) -> None:
    approval = ask(params=SCHEMAS[name])
    page = _page(approver, approval)
    assert 'value="decline"' in page
    assert 'value="cancel"' in page
    _ends(approver, approval, choice)


@pytest.mark.parametrize("choice", [Choice.DECLINE, Choice.CANCEL])
@pytest.mark.parametrize("address", ADDRESSES, ids=lambda address: repr(address[:40]))
def test_an_address_of_any_kind_is_readable_and_leads_nowhere(
    ask: Ask, approver: Member, address: str, choice: Choice
) -> None:
    approval = ask(params=LINKS[address])
    page = _page(approver, approval)
    assert ADDRESSES[address] in unescape(page)
    assert 'target="_blank"' not in page
    _ends(approver, approval, choice)


@pytest.mark.parametrize("address", [a for a in ADDRESSES if not a.startswith("https://good")])
def test_an_address_that_is_not_opened_cannot_be_agreed_to(
    ask: Ask, approver: Member, address: str
) -> None:
    approval = ask(params=LINKS[address])
    if 'value="accept"' in _page(approver, approval):
        return  # it leads where it says, and the warnings say so
    assert _say(approver, approval, Choice.ACCEPT).status_code == 422
    assert Approval.objects.get(pk=approval.pk).is_open


@pytest.mark.parametrize("name", TRICKS)
def test_what_tricks_the_eye_is_written_out_in_every_word(
    ask: Ask, approver: Member, name: str
) -> None:
    text, visible = TRICKS[name]
    label = {"type": "string", "title": text, "description": text}
    page = _page(approver, ask(message=text, fields={"x": label}, arguments={"note": text}))
    # message, title, description, argument
    assert page.count(visible) >= 4


@pytest.mark.parametrize("name", SIZES)
def test_a_text_of_any_size_is_a_page_in_time(ask: Ask, approver: Member, name: str) -> None:
    approval = ask(message=SIZES[name][:250_000], fields=NOTE)
    _page(approver, approval)
    _ends(approver, approval, Choice.DECLINE)


def test_markup_is_nowhere_markup(ask: Ask, approver: Member) -> None:
    page = _page(approver, ask(params=SCHEMAS["markup in every word"], arguments={MARKUP: MARKUP}))
    for words in (words for words in BREAKOUTS if "<" in words):
        assert words not in page


@pytest.mark.parametrize("typed", ["a" * 5_000 + "!", "(" * 5_000, "\u202e" * 500])
def test_a_pattern_without_end_is_given_up_in_time(ask: Ask, approver: Member, typed: str) -> None:
    approval = ask(params=SCHEMAS["a pattern without end"])
    answer = _say(approver, approval, Choice.ACCEPT, **{"field-0": typed})
    assert answer.status_code == 422
    assert Approval.objects.get(pk=approval.pk).is_open


def test_a_question_without_words_can_be_refused(ask: Ask, approver: Member) -> None:
    params: dict[str, Any] = form_params("", **NOTE)
    _ends(approver, ask(params=params), Choice.DECLINE)
