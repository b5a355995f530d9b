"""The page of a gate: what each person reads, what each post does, without JavaScript."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import clockwork
from approvals.models import Approval, ApprovalState, Draft, ReasonPreset, Verdict, Vote
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import Tool
from tasks_monitor.states import State
from tests.approvals.conftest import Join
from tests.approvals.gates import a_gate, say, token
from tests.factories import ServerFactory

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "inbox-detail"}


def _browser(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


def _page(member: Member, approval: Approval) -> str:
    response = _browser(member).get(reverse("inbox_item", args=[approval.pk]))
    assert response.status_code == 200
    return response.content.decode()


def _post(member: Member, approval: Approval, choice: str, **more: str) -> HttpResponse:
    headers = {name: more.pop(name) for name in list(more) if name.startswith("HTTP_")}
    posted = {"binding": token(approval, member, timezone.now()), "choice": choice, **more}
    return _browser(member).post(
        reverse("inbox_decide", args=[approval.pk]), posted, **headers, follow=True
    )


def test_it_stands_in_the_list_and_says_who_asks_for_what_and_by_which_rule(
    operator: Member, approver: Member
) -> None:
    server = ServerFactory(team=operator.team)
    definition = {"name": "deploy_project", "annotations": {"destructiveHint": True}}
    Tool.objects.create(server=server, name="deploy_project", definition=definition)
    approval = a_gate(
        operator, arguments={"project": "<b>api</b>"}, reason="release 43", server=server
    )
    listed = _browser(approver).get("/inbox/").content.decode()
    assert "Run this tool?" in listed
    assert "release 43" in listed
    page = _page(approver, approval)
    for part in (
        "Run deploy_project?</h2>",
        f"{operator.user.name} asked",
        "&lt;b&gt;api&lt;/b&gt;",
        "claims of this tool: may destroy",
        "You are up.",
        "rule 1 (",
        'value="approve"',
        'value="deny"',
    ):
        assert part in page
    assert "<b>api" not in page


@pytest.mark.parametrize(
    ("arguments", "warned"),
    [
        ({"url": "https://аррӏе.com"}, True),
        ({"hosts": ["a.example.com", "xn--80ak6aa92e.com"]}, True),
        ({"pаypal": 1}, True),
        ({"url": "https://apple.com", "city": "Москва"}, False),
    ],
)
def test_arguments_that_are_not_what_they_look_like_are_warned_about(
    operator: Member, approver: Member, arguments: dict[str, Any], warned: bool
) -> None:
    page = _page(approver, a_gate(operator, arguments=arguments))
    assert ("Careful with the arguments." in page) == warned


def test_a_server_that_claims_something_else_later_lulls_nobody(
    operator: Member, approver: Member
) -> None:
    server = ServerFactory(team=operator.team)
    definition = {"name": "deploy_project", "annotations": {"destructiveHint": True}}
    tool = Tool.objects.create(server=server, name="deploy_project", definition=definition)
    approval = a_gate(operator, server=server)
    tool.definition = {"name": "deploy_project", "annotations": {"readOnlyHint": True}}
    tool.save()
    page = _page(approver, approval)
    assert "claims of this tool: may destroy." in page
    assert "only reads" not in page


def test_each_person_reads_why_they_can_or_cannot_act(
    operator: Member, approver: Member, join: Join
) -> None:
    approval = a_gate(operator, {"quorum": 2})
    started = _page(operator, approval)
    assert "You started this: someone else must decide." in started
    assert 'value="approve"' not in started
    assert "It was not put to you." in _page(join(Role.AUDITOR), approval)
    say(approval, approver)
    voted = _page(approver, approval)
    assert "Waiting for 1 more of 2." in voted
    assert 'value="approve"' not in voted
    assert 'value="deny"' in voted


def test_where_votes_became_enough_by_themselves_each_of_them_can_carry_it_out(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, second = a_gate(operator, {"quorum": 2}), join()
    say(approval, approver)
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    say(approval, second)
    Membership.objects.filter(user=approver.user).update(role=Role.APPROVER)
    page = _page(second, approval)
    assert "2 of 2 have approved; one refusal refuses. One more word decides it." in page
    assert 'value="approve"' in page
    assert "It is sent as soon as" in _post(second, approval, "approve").content.decode()


def test_a_role_that_no_longer_decides_reads_that(operator: Member, join: Join) -> None:
    named = join(Role.OPERATOR)
    approval = a_gate(operator, {"audience": "people", "people": [named.user_id]})
    Membership.objects.filter(user=named.user).update(role=Role.AUDITOR)
    assert "Your role does not decide." in _page(named, approval)
    assert "Not enough people are left" in _page(operator, approval)


def test_approving_goes_on_and_says_what_it_came_to(operator: Member, approver: Member) -> None:
    approval = a_gate(operator)
    page = _post(approver, approval, "approve").content.decode()
    assert "It is sent as soon as a worker is free." in page
    assert "You approved this" in _page(approver, approval)
    assert f"Approved, last by {approver.user.name}" in _page(operator, approval)


def test_denying_without_a_reason_is_refused_and_with_one_everybody_reads_it(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator)
    refused = _post(approver, approval, "deny")
    assert refused.status_code == 422
    assert "Say why you deny it" in refused.content.decode()
    assert (
        'aria-describedby="form-errors reason-help" aria-invalid="true"' in refused.content.decode()
    )
    assert _post(approver, approval, "deny", reason="not <today>").status_code == 200
    page = _page(operator, approval)
    assert f"Denied by {approver.user.name}" in page
    assert "not &lt;today&gt;" in page


def test_a_long_value_has_to_be_confirmed_as_read(operator: Member, approver: Member) -> None:
    approval = a_gate(operator, arguments={"script": "x" * 500})
    tick = 'name="opened" value="argument-1" form="item-form"'
    assert tick in _page(approver, approval)
    assert tick not in _page(operator, approval)
    refused = _post(approver, approval, "approve", reason="kept")
    assert refused.status_code == 422
    assert "1 folded value is not opened yet" in refused.content.decode()
    assert ">kept</textarea>" in refused.content.decode()
    _post(approver, approval, "approve", opened="argument-1")
    approval.refresh_from_db()
    assert approval.state == ApprovalState.DECIDED


def test_whoever_started_it_posts_in_vain(operator: Member) -> None:
    approval = a_gate(operator)
    refused = _post(operator, approval, "approve")
    assert refused.status_code == 422
    assert not Vote.objects.exists()


def test_who_comes_late_is_told_who_was_first_and_keeps_what_they_typed(
    operator: Member, approver: Member, join: Join
) -> None:
    approval, late = a_gate(operator), join()
    say(approval, approver)
    response = _post(late, approval, "deny", reason="my words")
    assert response.status_code == 409
    page = response.content.decode()
    assert f"{approver.user.name} approved this before you." in page
    assert "my words" in page
    assert _post(late, approval, "deny", reason="my words", **HTMX).status_code == 200


@pytest.mark.parametrize("choice", ["accept", "decline", "", "allow"])
def test_an_answer_is_no_verdict(operator: Member, approver: Member, choice: str) -> None:
    approval = a_gate(operator)
    assert _post(approver, approval, choice).status_code == 422
    approval.refresh_from_db()
    assert approval.is_open


def test_a_viewer_knows_that_it_waits_and_reads_no_argument(operator: Member, join: Join) -> None:
    approval = a_gate(operator, arguments={"project": "SECRET-WORD"})
    page = _page(join(Role.VIEWER), approval)
    assert "SECRET-WORD" not in page
    assert "Arguments are shown to those it is put to" in page


def test_expired_it_says_that_nobody_refused_it(operator: Member, approver: Member) -> None:
    approval = a_gate(operator, {"deadline_s": 60, "at_deadline": "deny"})
    clockwork.look(timezone.now())
    page = _page(approver, approval)
    assert "nobody refused it: the rule denies what nobody approves in time" in page
    approval.operation.refresh_from_db()
    assert approval.operation.state == State.DENIED


def test_the_parts_that_change_by_themselves_hold_no_form_and_no_argument(
    operator: Member, approver: Member
) -> None:
    approval = a_gate(operator, arguments={"project": "SECRET-WORD"})
    url = reverse("inbox_item_live", args=[approval.pk])
    live = _browser(approver).get(url).content.decode()
    assert 'id="item-live"' in live
    assert "SECRET-WORD" not in live
    assert "<form" not in live


def test_the_page_costs_the_same_for_any_number_of_people(
    operator: Member, approver: Member, join: Join, django_assert_max_num_queries: Any
) -> None:
    approval = a_gate(operator, {"quorum": 20})
    for _ in range(10):
        say(approval, join())
    for _ in range(10):
        join()
    url = reverse("inbox_item", args=[approval.pk])
    browser = _browser(approver)
    with django_assert_max_num_queries(39):
        page = browser.get(url).content.decode()
    assert "and others" in page


@pytest.mark.parametrize("name", ["inbox_draft", "inbox_snooze"])
def test_a_typed_reason_is_kept_for_its_writer_alone_and_gone_once_they_decide(
    operator: Member, approver: Member, join: Join, name: str
) -> None:
    approval = a_gate(operator, {"quorum": 2})
    ReasonPreset.objects.create(team=approval.team, verdict=Verdict.DENY, text="Not in the freeze")
    typed = {"reason": "Half a <thought>", "usual_reason": "Not in the freeze"}
    _browser(approver).post(reverse(name, args=[approval.pk]), typed)
    page = _page(approver, approval)
    assert "Half a &lt;thought&gt;</textarea>" in page
    assert "<option selected>Not in the freeze</option>" in page
    assert "Your draft of" in page
    colleague = join()
    assert "thought" not in _page(colleague, approval)
    _post(approver, approval, "approve", reason="whole")
    assert "thought" not in _page(approver, approval)
    assert not Draft.objects.filter(user=approver.user).exists()


def test_a_reason_typed_when_somebody_else_was_first_stays_to_be_read(
    operator: Member, approver: Member, join: Join
) -> None:
    approval = a_gate(operator)
    typed = {"reason": "Too early in the day"}
    _browser(approver).post(reverse("inbox_draft", args=[approval.pk]), typed)
    say(approval, join())
    assert "What you had typed" in _page(approver, approval)
    assert "Too early in the day" in _page(approver, approval)


def test_nobody_keeps_a_reason_for_what_they_may_not_decide(operator: Member, join: Join) -> None:
    approval, viewer = a_gate(operator), join(Role.VIEWER)
    for member in (operator, viewer):
        _browser(member).post(reverse("inbox_draft", args=[approval.pk]), {"reason": "mine"})
    assert not Draft.objects.exists()


def test_not_now_puts_it_aside_and_another_teams_person_finds_nothing(
    operator: Member, approver: Member, join: Join
) -> None:
    approval = a_gate(operator)
    _browser(approver).post(reverse("inbox_snooze", args=[approval.pk]))
    assert "You put this aside" in _page(approver, approval)
    stranger = join(Role.ADMIN, team=ServerFactory().team)
    response = _browser(stranger).get(reverse("inbox_item", args=[approval.pk]))
    assert response.status_code == 404


def test_the_operation_page_leads_to_its_gate(operator: Member) -> None:
    approval = a_gate(operator)
    page = _browser(operator).get(f"/operations/{approval.operation_id}/").content.decode()
    assert "Waiting for approval by the team&#x27;s approvers" in page
    assert f"/inbox/{approval.pk}/" in page
