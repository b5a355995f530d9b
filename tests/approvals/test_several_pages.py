"""The page that shows what was picked and asks once more, and what it says afterwards."""

import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from approvals import bulk
from approvals.models import Approval, Vote
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate, say
from tests.factories import TeamFactory

pytestmark = pytest.mark.django_db(transaction=True)

HTMX = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "inbox-detail"}
NAME = {"name": {"type": "string"}}


def _browser(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


def _ask(member: Member, *approvals: Approval, query: str = "", **more: Any) -> HttpResponse:
    picked = "&".join(f"item={one.pk}" for one in approvals)
    return _browser(member).get(f"/inbox/several/?choice=approve&{picked}{query}", **more)


def _fields(page: HttpResponse) -> dict[str, Any]:
    """What a browser posts of the page's form."""
    text = page.content.decode()
    tokens = re.findall(r'name="(binding-[0-9a-f-]+)" value="([^"]*)"', text)
    items = re.findall(r'name="item" value="([0-9a-f-]+)" checked', text)
    return {**dict(tokens), "item": items}


def _post(member: Member, fields: dict[str, Any], query: str = "", **more: Any) -> HttpResponse:
    return _browser(member).post(f"/inbox/several/{query}", fields, **more)


def test_it_shows_each_item_whole_before_anything_is_decided(
    ask: Ask, approver: Member, operator: Member
) -> None:
    gate = a_gate(operator, arguments={"project": "<b>api</b>"}, reason="release 43")
    question = ask(message="Replace version 42?")
    page = _ask(approver, gate, question).content.decode()
    for part in (
        "You are about to approve 2 items",
        "&lt;b&gt;api&lt;/b&gt;",
        "release 43",
        "Replace version 42?",
        "Nothing is decided yet.",
        "Approve them",
        operator.user.name,
    ):
        assert part in page
    assert "Approve it" in _ask(approver, gate).content.decode()
    assert not Vote.objects.exists()


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_each_item_has_a_line_in_the_result(
    ask: Ask, approver: Member, operator: Member, join: Join, headers: dict[str, str]
) -> None:
    gate, question, quick = a_gate(operator), ask(), join()
    fields = _fields(_ask(approver, gate, question))
    say(gate, quick)
    page = _post(approver, {**fields, "choice": "approve"}, **headers).content.decode()
    assert "1 decided, 1 not" in page
    assert f"{quick.user.name} approved this before you." in page
    assert "Approved. The answer is saved and on its way." in page
    assert ("<html" in page) is not bool(headers)


def test_what_is_unticked_stays_as_it_is(ask: Ask, approver: Member) -> None:
    meant, spared = ask(), ask()
    fields = _fields(_ask(approver, meant, spared))
    _post(approver, {**fields, "item": [str(meant.pk)], "choice": "approve"})
    spared.refresh_from_db()
    assert spared.is_open


@pytest.mark.parametrize("chosen", ["approve", "deny"])
def test_the_page_that_asks_once_more_has_only_the_button_that_was_chosen(
    ask: Ask, approver: Member, chosen: str
) -> None:
    address = f"/inbox/several/?choice={chosen}&item={ask().pk}"
    form = _browser(approver).get(address).content.decode().split('id="several-form"')[1]
    assert re.findall(r'name="choice" value="(\w+)"', form.split("</form>")[0]) == [chosen]


def test_denying_without_a_reason_shows_the_page_again_with_why(ask: Ask, approver: Member) -> None:
    fields = _fields(_ask(approver, ask(), ask()))
    page = _post(approver, {**fields, "choice": "deny"})
    assert page.status_code == 422
    assert bulk.NEEDS_REASON in page.content.decode()
    assert not Vote.objects.exists()
    again = {**_fields(page), "choice": "deny", "reason": "no"}
    assert "2 decided" in _post(approver, again).content.decode()


def test_what_cannot_be_decided_here_is_left_out_and_says_why(
    ask: Ask, approver: Member, join: Join
) -> None:
    plain, form, foreign = ask(), ask(fields=NAME), ask()
    Approval.objects.filter(pk=foreign.pk).update(team=TeamFactory())
    page = _ask(approver, plain, form, foreign).content.decode()
    assert "approve 1 item" in page
    assert "It asks for more than yes or no" in page
    assert "1 of what was picked is not here." in page
    assert str(foreign.pk) not in page


@pytest.mark.parametrize("query", ["", "item=nonsense", "choice=maybe&item="])
def test_an_address_that_picks_nothing_says_so(approver: Member, query: str) -> None:
    page = _browser(approver).get(f"/inbox/several/?{query}").content.decode()
    assert "Nothing to decide here" in page


def test_more_than_the_most_is_not_shown(approver: Member) -> None:
    picked = "&".join(f"item=00000000-0000-0000-0000-{number:012}" for number in range(51))
    page = _browser(approver).get(f"/inbox/several/?{picked}").content.decode()
    assert bulk.TOO_MANY in page


def test_a_post_without_a_choice_decides_nothing(ask: Ask, approver: Member) -> None:
    page = _post(approver, _fields(_ask(approver, ask())))
    assert page.status_code == 422
    assert not Vote.objects.exists()


@pytest.mark.parametrize(
    ("role", "status"), [(Role.VIEWER, 403), (Role.AUDITOR, 403), (Role.OPERATOR, 200)]
)
def test_who_decides_nothing_is_told_so(join: Join, role: Role, status: int) -> None:
    client = _browser(join(role))
    assert client.get(reverse("inbox_several")).status_code == status
    expected = status if status == 403 else 422
    assert client.post(reverse("inbox_several")).status_code == expected


def test_the_list_stays_as_it_was_chosen(ask: Ask, approver: Member) -> None:
    page = _ask(approver, ask(), query="&tool=deploy&tab=aside")
    assert 'action="/inbox/several/?tab=aside&amp;tool=deploy"' in page.content.decode()
    fields = {**_fields(page), "choice": "approve"}
    result = _post(approver, fields, "?tab=aside&tool=deploy").content.decode()
    assert 'href="/inbox/?tab=aside&amp;tool=deploy">Back to the list' in result


def test_boxes_stand_where_this_person_decides_and_nowhere_else(
    ask: Ask, approver: Member, join: Join
) -> None:
    plain, form = ask(), ask(fields=NAME)
    mine = _browser(approver).get("/inbox/").content.decode()
    assert f'value="{plain.pk}" id="pick-{plain.pk}"' in mine
    assert f"pick-{form.pk}" not in mine
    assert mine.count("It asks for more than yes or no, so it has to be opened.") == 2
    for member, path in ((approver, "/inbox/?tab=team"), (join(Role.AUDITOR), "/inbox/?tab=team")):
        page = _browser(member).get(path).content.decode()
        assert "data-pick" not in page
        assert 'id="inbox-picked"' not in page
