"""Questions that come together stand in the order in which the server asked, wherever they do."""

from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from approvals import beside, history, intake, selectors
from approvals.filters import Chosen, Filters, Tab
from approvals.history_filters import ApprovalFilters
from approvals.models import Approval
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, Team
from mcpdesk.notify.models import Message
from mcpdesk.web import dashboard
from tasks_monitor.history_filters import Sort
from tasks_monitor.models import Answerers
from tests.api.calling import person
from tests.approvals.conftest import Join
from tests.factories import NOW, InputRequestFactory, OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db

#: By chance one of 40,320 orders is this one.
KEYS = ("q", "b", "z", "a", "m", "c", "y", "d")


@pytest.fixture
def asked(team: Team, approver: Member, operator: Member) -> list[UUID]:
    """The ids of the items of eight questions, in the order in which they were asked."""
    operation = OperationFactory(
        server=ServerFactory(team=team),
        started_by=operator.user,
        questions_to=Answerers.APPROVERS,
    )
    requests = [InputRequestFactory(operation=operation, key=key) for key in KEYS]
    intake.take_in(operation.pk, now=NOW)
    return [Approval.objects.get(input_request=request).pk for request in requests]


def test_the_inbox_lists_them_so_and_opens_the_next_one(
    asked: list[UUID], approver: Member
) -> None:
    for tab in (Tab.MINE, Tab.TEAM):
        rows = selectors.page(approver, Chosen(tab), NOW).rows
        assert [row.pk for row in rows] == asked
    done = Approval.objects.get(pk=asked[2])
    following = selectors.first_waiting(approver, Filters(), NOW, instead_of=done)
    assert following is not None
    assert following.pk == asked[3]


def test_the_page_of_one_of_them_lists_the_others_so(asked: list[UUID], approver: Member) -> None:
    first = Approval.objects.select_related("operation").get(pk=asked[0])
    found = beside.of(first, approver, NOW)
    assert [one.approval.pk for one in found] == asked[1:]
    client = Client()
    client.force_login(approver.user)
    page = client.get(f"/inbox/{asked[0]}/").content.decode()
    places = [page.index(f'id="beside-{pk}"') for pk in asked[1:]]
    assert places == sorted(places)


def test_several_that_are_picked_are_shown_so(asked: list[UUID], approver: Member) -> None:
    assert [one.pk for one in selectors.picked(approver, reversed(asked))] == asked


def test_the_history_lists_them_so_and_newest_first_the_other_way_round(
    asked: list[UUID], join: Join
) -> None:
    auditor = join(Role.AUDITOR)
    oldest = history.page(auditor, ApprovalFilters(sort=Sort.OLDEST)).rows
    assert [row.pk for row in oldest] == asked
    newest = history.page(auditor, ApprovalFilters(), size=3)
    more = history.page(auditor, ApprovalFilters(), newest.after, size=3)
    assert [row.pk for row in [*newest.rows, *more.rows]] == asked[:-7:-1]


def test_the_api_and_the_dashboard_list_them_so(
    asked: list[UUID], team: Team, approver: Member
) -> None:
    caller = person(team, Role.APPROVER)
    rows = caller.get("/approvals").json()["items"]
    assert [row["id"] for row in rows] == [str(pk) for pk in asked]
    operation_id = Approval.objects.get(pk=asked[0]).operation_id
    waiting = caller.get(f"/operations/{operation_id}").json()["waiting"]
    assert [one["id"] for one in waiting] == [str(pk) for pk in asked]
    listed = [one.url for one in dashboard.longest_waiting(approver)]
    assert listed == [f"/inbox/{pk}/" for pk in asked][: len(listed)]


def test_messages_about_them_go_out_so(asked: list[UUID], approver: Member) -> None:
    told = Message.objects.filter(user=approver.user).order_by("created_at", "pk")
    assert [one.approval_id for one in told] == asked


def test_they_are_not_asked_later_than_they_came(asked: list[UUID]) -> None:
    last = Approval.objects.get(pk=asked[-1])
    assert 0 < (last.created_at - NOW).total_seconds() < 0.001
    assert last.created_at < timezone.now()
