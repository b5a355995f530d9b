"""The lists of the inbox: who sees what, the badge, pages, and what they cost."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals import intake, selectors, snooze
from approvals.binding import bind
from approvals.decide import Said, decide
from approvals.filters import Chosen, Filters, Tab
from approvals.models import Approval, Choice, Shape
from mcpdesk.accounts.access import Member, may_see_payload
from mcpdesk.accounts.models import Role
from tasks_monitor.models import Answerers, InputRequest, InputRequestState
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW, TeamFactory, url_params

pytestmark = pytest.mark.django_db


def _listed(member: Member, tab: Tab = Tab.MINE, filters: Filters | None = None) -> list[Any]:
    return selectors.page(member, Chosen(tab, filters or Filters()), NOW).rows


def _age(*approvals: Approval) -> None:
    """Give items the order they are named in."""
    for minute, approval in enumerate(approvals):
        Approval.objects.filter(pk=approval.pk).update(created_at=NOW + timedelta(minutes=minute))


@pytest.mark.parametrize(
    ("role", "waits"),
    [
        (Role.VIEWER, 0),
        (Role.APPROVER, 2),
        (Role.OPERATOR, 0),
        (Role.AUDITOR, 0),
        (Role.ADMIN, 2),
    ],
)
def test_for_me_holds_what_was_put_to_me(ask: Ask, join: Join, role: Role, waits: int) -> None:
    ask()
    ask()
    ask(questions_to=Answerers.REQUESTER)
    member = join(role)
    assert len(_listed(member)) == waits
    assert selectors.badge_count(member) == waits


def test_for_me_holds_what_my_own_operations_ask(ask: Ask, operator: Member) -> None:
    mine = ask(questions_to=Answerers.REQUESTER)
    ask()
    assert _listed(operator) == [mine]


def test_a_requester_who_may_no_longer_decide_has_nothing_waiting(
    ask: Ask, operator: Member
) -> None:
    ask(questions_to=Answerers.REQUESTER)
    viewer = Member(operator.user, operator.team, Role.VIEWER)
    assert _listed(viewer) == []


def test_the_team_sees_every_open_item(ask: Ask, join: Join) -> None:
    ask()
    ask(questions_to=Answerers.REQUESTER)
    for role in Role:
        assert len(_listed(join(role), Tab.TEAM)) == 2


def test_another_team_sees_nothing_of_it(ask: Ask, join: Join) -> None:
    ask()
    stranger = join(Role.ADMIN, team=TeamFactory())
    assert [_listed(stranger, tab) for tab in Tab] == [[], [], [], []]
    assert selectors.badge_count(stranger) == 0


def test_what_is_closed_moves_to_decided(ask: Ask, approver: Member) -> None:
    approval = ask()
    InputRequest.objects.update(state=InputRequestState.WITHDRAWN, version=2)
    intake.take_in(approval.operation_id, now=NOW)
    assert _listed(approver) == []
    assert _listed(approver, Tab.DECIDED) == [approval]


def test_put_aside_leaves_one_persons_list_and_comes_back(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, other = ask(), join()
    snooze.snooze(approval.pk, member=approver, now=NOW)
    assert _listed(approver) == []
    assert _listed(approver, Tab.ASIDE) == [approval]
    assert _listed(other) == [approval]
    later = NOW + snooze.ASIDE + timedelta(seconds=1)
    assert list(selectors.waiting_for(approver, later)) == [approval]


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("questions_to", list(Answerers))
def test_a_row_shows_the_question_to_those_the_item_shows_it_to(
    ask: Ask, join: Join, role: Role, questions_to: Answerers
) -> None:
    approval = ask(questions_to=questions_to)
    member = join(role)
    [row] = _listed(member, Tab.TEAM)
    assert row.payload_seen is may_see_payload(member, approval.operation)


def test_a_row_shows_its_question_to_whoever_started_it(ask: Ask, operator: Member) -> None:
    ask()
    viewer = Member(operator.user, operator.team, Role.VIEWER)
    assert _listed(viewer, Tab.TEAM)[0].payload_seen is True


def test_the_oldest_waits_first(ask: Ask, approver: Member) -> None:
    second, first = ask(), ask()
    _age(first, second)
    assert _listed(approver) == [first, second]


def test_filters_narrow_by_server_tool_and_kind(ask: Ask, approver: Member) -> None:
    plain, link = ask(), ask(params=url_params("https://pay.example.com/"))
    plain.operation.tool_name = "drop_table"
    plain.operation.save()
    server = link.operation.server.name
    assert _listed(approver, filters=Filters(tool="TABLE")) == [plain]
    assert _listed(approver, filters=Filters(server=server)) == [link]
    assert _listed(approver, filters=Filters(shape=Shape.LINK)) == [link]
    assert _listed(approver, filters=Filters(tool="table", shape=Shape.LINK)) == []


def test_pages_follow_each_other_without_a_gap_or_a_repeat(
    ask: Ask, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "PAGE_ROWS", 2)
    asked = [ask() for _ in range(5)]
    # equal times: the id decides
    Approval.objects.update(created_at=NOW)
    seen, after = [], ""
    while True:
        page = selectors.page(approver, Chosen(after=after), NOW)
        seen += page.rows
        after = page.after
        if not after:
            break
    assert [approval.pk for approval in seen] == sorted(approval.pk for approval in asked)


@pytest.mark.parametrize(
    "after", ["nonsense", "2026-01-01_x", "_", "2026-11-29T14:00:00_" + "0" * 32]
)
def test_a_cursor_that_is_not_ours_begins_at_the_top(
    ask: Ask, approver: Member, after: str
) -> None:
    approval = ask()
    assert selectors.page(approver, Chosen(after=after), NOW).rows == [approval]


def test_after_one_the_next_opens_and_after_the_last_the_first(ask: Ask, approver: Member) -> None:
    first, second, third = ask(), ask(), ask()
    _age(first, second, third)
    for approval in (first, second, third):
        approval.refresh_from_db()
    assert selectors.first_waiting(approver, Filters(), NOW, instead_of=first) == second
    assert selectors.first_waiting(approver, Filters(), NOW, instead_of=third) == first


def test_the_last_thing_i_decided_is_mine_and_the_latest(
    ask: Ask, approver: Member, join: Join
) -> None:
    mine, theirs = ask(), ask()
    for approval, member in ((mine, approver), (theirs, join())):
        said = Said(Choice.DECLINE, bind(approval, user_id=member.user_id, now=NOW))
        decide(approval.pk, member=member, said=said, now=NOW)
    assert selectors.last_decided(approver) == mine


def test_an_item_is_found_through_whichever_team_it_is_in(ask: Ask, join: Join) -> None:
    approval = ask()
    here = join(Role.VIEWER)
    elsewhere = join(Role.ADMIN, team=TeamFactory(), user=here.user)
    found = selectors.find([elsewhere, here], approval.pk)
    assert found is not None
    assert found == (here, approval)
    assert selectors.find([elsewhere], approval.pk) is None


def test_a_timeline_leaves_out_the_other_questions(ask: Ask, approver: Member) -> None:
    first = ask(key="a")
    second = ask(key="b", operation=first.operation)
    for approval in (first, second):
        said = Said(Choice.ACCEPT, bind(approval, user_id=approver.user_id, now=NOW))
        decide(approval.pk, member=approver, said=said, now=NOW)
    events = selectors.timeline(first)
    assert {event.approval_id for event in events} == {first.pk, None}
    answers = [event for event in events if event.kind == "answer.saved"]
    assert [event.data["question"] for event in answers] == [first.input_request_id]
    assert any(event.kind == "operation.moved" for event in events)


@pytest.mark.parametrize("tab", list(Tab))
@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.ADMIN])
def test_a_list_costs_three_queries_however_long_it_is(
    ask: Ask,
    join: Join,
    tab: Tab,
    role: Role,
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    member = join(role)
    for _ in range(5):
        ask()
    nothing = tab in (Tab.MINE, Tab.ASIDE) and role == Role.VIEWER
    # the items; their servers and who started them, where there are any
    queries = 0 if nothing else 3 if tab in (Tab.MINE, Tab.TEAM) else 1
    with django_assert_num_queries(queries):
        for approval in selectors.page(member, Chosen(tab), timezone.now()).rows:
            str(approval.operation.server.name + str(approval.operation.started_by))
            str(approval.input_request.params)


def test_the_badge_costs_one_query(
    ask: Ask, approver: Member, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for _ in range(3):
        ask()
    with django_assert_num_queries(1):
        assert selectors.badge_count(approver) == 3
