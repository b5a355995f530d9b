"""Who has opened an item: a person who did, once; no browser ahead of them, no refresh."""

import pytest
from django.test import Client
from django.urls import reverse

from approvals import looks
from approvals.models import Approval, Look
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit.models import Event
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW

pytestmark = pytest.mark.django_db

PART = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "inbox-detail"}


def _browser(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


def _get(member: Member, approval: Approval, name: str = "inbox_item", **headers: str) -> None:
    _browser(member).get(reverse(name, args=[approval.pk]), **headers)


def _looks() -> int:
    events = Event.objects.filter(kind="approval.looked").count()
    assert Look.objects.count() == events
    return events


def test_the_first_time_a_person_opens_it_is_written_down(ask: Ask, approver: Member) -> None:
    approval = ask()
    assert looks.note(approval, member=approver, now=NOW)
    assert not looks.note(approval, member=approver, now=NOW)
    assert _looks() == 1
    look = Look.objects.get()
    assert (look.user, look.at) == (approver.user, NOW)


@pytest.mark.parametrize("headers", [{}, {**PART, "HTTP_HX_TRIGGER": "row-1"}])
def test_a_page_and_a_click_on_a_row_open_it(
    ask: Ask, approver: Member, join: Join, headers: dict[str, str]
) -> None:
    approval = ask()
    for member in (approver, join(Role.VIEWER), approver):
        _get(member, approval, **headers)
    assert _looks() == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"HTTP_SEC_PURPOSE": "prefetch"},
        {"HTTP_SEC_PURPOSE": "prefetch;prerender"},
        {"HTTP_PURPOSE": "prefetch"},
        {"HTTP_X_MOZ": "prefetch"},
        PART,
    ],
)
def test_nobody_has_opened_what_a_browser_fetched_by_itself(
    ask: Ask, approver: Member, headers: dict[str, str]
) -> None:
    _get(approver, ask(), **headers)
    assert _looks() == 0


@pytest.mark.parametrize("name", ["inbox_item_live", "inbox_item_work", "inbox_item_beside"])
def test_parts_that_refresh_themselves_open_nothing(ask: Ask, approver: Member, name: str) -> None:
    _get(approver, ask(), name)
    assert _looks() == 0


def test_neither_a_head_request_nor_the_inbox_beside_opens_it(ask: Ask, approver: Member) -> None:
    approval = ask()
    _browser(approver).head(reverse("inbox_item", args=[approval.pk]))
    _browser(approver).get(reverse("inbox"))
    assert _looks() == 0


def test_a_mail_scanner_that_is_not_signed_in_opens_nothing(ask: Ask) -> None:
    approval = ask()
    response = Client().get(reverse("inbox_item", args=[approval.pk]))
    assert response.status_code == 302
    assert _looks() == 0


def test_the_timeline_says_who_opened_it(ask: Ask, approver: Member, operator: Member) -> None:
    approval = ask()
    _get(approver, approval)
    page = _browser(operator).get(reverse("inbox_item", args=[approval.pk])).content.decode()
    assert f"{approver.user} opened the item" in page
