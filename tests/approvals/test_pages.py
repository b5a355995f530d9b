"""The pages of the inbox without JavaScript: what each person sees, and what each post does."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from approvals import binding, drafts, intake, selectors
from approvals.models import Approval, ApprovalState
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, User
from tasks_monitor.models import (
    Answerers,
    Delivery,
    InputRequest,
    InputRequestSource,
    InputRequestState,
    Operation,
)
from tasks_monitor.states import State
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW, MembershipFactory, url_params

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "inbox-detail"}
NAME = {"name": {"type": "string", "minLength": 3}}
SAID = "Replace version 42?"


def _browser(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


def _url(name: str, approval: Approval) -> str:
    return reverse(name, args=[approval.pk])


def _item(member: Member, approval: Approval, **more: Any) -> HttpResponse:
    return _browser(member).get(_url("inbox_item", approval), **more)


def _text(response: HttpResponse) -> str:
    return response.content.decode()


def _decide(
    member: Member, approval: Approval, choice: str = "accept", **more: Any
) -> HttpResponse:
    headers = more.pop("headers", {})
    shown = Approval.objects.get(pk=approval.pk)
    token = binding.bind(shown, user_id=member.user_id, now=timezone.now())
    posted = {"choice": choice, "binding": token, **more}
    return _browser(member).post(_url("inbox_decide", approval), posted, **headers)


# --- what is seen


def test_one_item_stands_in_the_order_in_which_it_is_read(ask: Ask, approver: Member) -> None:
    approval = ask(message=SAID, fields=NAME, arguments={"project": "api"})
    page = _text(_item(approver, approval))
    places = [
        page.index(part)
        for part in (
            "deploy.internal.example",
            "platform-bot",
            "deploy_project</h2>",
            "release 43 to production",
            "What runs",
            "You are up.",
            "The server asks",
            'id="item-form"',
            'value="accept"',
            'value="decline"',
            'value="cancel"',
            "Not now",
            'id="item-delivery"',
            "Timeline",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("role", list(Role))
def test_every_role_can_open_the_inbox_and_an_item(ask: Ask, join: Join, role: Role) -> None:
    approval, member = ask(), join(role)
    for tab in selectors.Tab:
        assert _browser(member).get(reverse("inbox"), {"tab": tab}).status_code == 200
    assert _item(member, approval).status_code == 200


@pytest.mark.parametrize(
    ("role", "seen"),
    [
        (Role.VIEWER, False),
        (Role.APPROVER, True),
        (Role.OPERATOR, True),
        (Role.AUDITOR, True),
        (Role.ADMIN, True),
    ],
)
def test_only_those_who_may_read_it_find_the_question_anywhere(
    ask: Ask, join: Join, role: Role, seen: bool
) -> None:
    approval = ask(message=SAID, arguments={"project": "ARGUMENT"})
    browser = _browser(join(role))
    pages = [
        _text(browser.get(path, **headers))
        for path in (
            reverse("inbox") + "?tab=team",
            _url("inbox_item", approval),
            _url("inbox_item_live", approval),
        )
        for headers in ({}, HTMX)
    ]
    assert any(SAID in page and "ARGUMENT" in page for page in pages) is seen
    assert seen or not any(SAID in page or "ARGUMENT" in page for page in pages)


def test_an_approver_finds_that_others_are_asked_but_not_what(ask: Ask, approver: Member) -> None:
    approval = ask(message=SAID, questions_to=Answerers.REQUESTER)
    page = _text(_item(approver, approval))
    assert SAID not in page
    assert f"This waits for {approval.operation.started_by}" in page


def test_a_servers_words_are_text_and_hide_nothing(ask: Ask, approver: Member) -> None:
    approval = ask(message="<b>bold</b>\u202e", fields={"<i>n</i>": {"type": "string"}})
    page = _text(_item(approver, approval))
    assert "<b>bold" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "U+202E" in page
    assert "\u202e" not in page


def test_a_question_of_lone_surrogates_is_still_a_page(ask: Ask, approver: Member) -> None:
    approval = ask(message="\ud800 and \x00", arguments={"\ud800": "\udfff\x00"})
    assert _item(approver, approval).status_code == 200
    assert _browser(approver).get(reverse("inbox")).status_code == 200


def test_a_long_argument_is_folded_and_whole(ask: Ask, approver: Member) -> None:
    page = _text(_item(approver, ask(arguments={"artifact": "x" * 1000})))
    assert "data-must-open" in page
    assert "x" * 1000 in page


def test_a_changed_question_says_that_it_is_one(ask: Ask, approver: Member) -> None:
    page = _text(_item(approver, ask(revision=2)))
    assert "The server changed this question" in page


def test_a_schema_that_is_no_form_is_shown_as_it_came(ask: Ask, approver: Member) -> None:
    page = _text(_item(approver, ask(fields={"nested": {"type": "object"}})))
    assert "cannot be shown as a form" in page
    assert "&quot;nested&quot;" in page
    assert 'value="accept"' not in page
    assert 'value="decline"' in page


def test_a_form_that_asks_for_a_secret_warns_masks_and_asks_again(
    ask: Ask, approver: Member
) -> None:
    page = _text(_item(approver, ask(fields={"password": {"type": "string", "default": "x1y2"}})))
    assert "Careful." in page
    assert 'type="password"' in page
    assert 'name="gives_secrets"' in page
    assert "x1y2" not in page


def test_what_was_answered_is_shown_without_its_secrets(ask: Ask, approver: Member) -> None:
    approval = ask(fields={"password": {"type": "string"}, "user": {"type": "string"}})
    _decide(approver, approval, **{"field-0": "hunter2", "field-1": "root", "gives_secrets": "on"})
    assert Delivery.objects.get().response["content"]["password"] == "hunter2"
    page = _text(_item(approver, approval))
    assert "root" in page
    assert "hunter2" not in page


# --- why one can or cannot act


def _aside(approval: Approval, member: Member) -> None:
    _browser(member).post(_url("inbox_snooze", approval))


def _overdue(approval: Approval, member: Member) -> None:
    Approval.objects.update(deadline_at=NOW - timedelta(days=1))


def _small_role(approval: Approval, member: Member) -> None:
    Approval.objects.update(audience="people")
    approval.people.add(member.user)
    Membership.objects.filter(user=member.user).update(role=Role.VIEWER)


def _not_mine(approval: Approval, member: Member) -> None:
    Approval.objects.update(audience="requester")


def _answered(approval: Approval, member: Member) -> None:
    _decide(member, approval, "decline")


def _ended(state: InputRequestState) -> Callable[[Approval, Member], None]:
    def end(approval: Approval, member: Member) -> None:
        InputRequest.objects.update(state=state, version=2)
        intake.take_in(approval.operation_id, now=NOW)

    return end


@pytest.mark.parametrize(
    ("happens", "banner"),
    [
        (lambda *_: None, "You are up."),
        (_aside, "You put this aside"),
        (_overdue, "The time to answer has passed"),
        (_small_role, "Your role does not decide."),
        (_not_mine, "It was not put to you."),
        (_answered, "You declined this"),
        (_ended(InputRequestState.WITHDRAWN), "The server withdrew this"),
        (_ended(InputRequestState.SUPERSEDED), "The server replaced this question"),
        (_ended(InputRequestState.EXPIRED), "nobody refused it"),
        (_ended(InputRequestState.CLOSED), "its operation is"),
    ],
)
def test_a_banner_says_why_one_can_or_cannot_act(
    ask: Ask, approver: Member, happens: Callable[[Approval, Member], None], banner: str
) -> None:
    approval = ask()
    happens(approval, approver)
    page = _text(_item(approver, approval))
    assert banner in page
    can_act = banner in ("You are up.", "You put this aside")
    assert ('id="item-form"' in page) is can_act
    assert banner in _text(_browser(approver).get(_url("inbox_item_live", approval)))


def test_the_banner_names_who_answered(ask: Ask, approver: Member, join: Join) -> None:
    approval = ask()
    _decide(approver, approval, "accept")
    assert f"Answered by {approver.user.name}" in _text(_item(join(), approval))


def test_a_replaced_question_leads_to_the_new_one(ask: Ask, approver: Member) -> None:
    old = ask()
    _ended(InputRequestState.SUPERSEDED)(old, approver)
    new = ask(operation=old.operation, key=old.input_request.key, revision=2, message="Really?")
    assert _url("inbox_item", new) in _text(_item(approver, old))


# --- deciding


def test_a_post_decides_and_goes_on_to_the_next_item(ask: Ask, approver: Member) -> None:
    approval, following = ask(fields=NAME), ask()
    response = _decide(approver, approval, **{"field-0": "api"})
    assert response.status_code == 302
    assert response["Location"] == _url("inbox_item", following)
    assert Delivery.objects.get().response == {"action": "accept", "content": {"name": "api"}}


def test_after_the_last_one_the_inbox_says_that_nothing_waits(ask: Ask, approver: Member) -> None:
    browser = _browser(approver)
    approval = ask()
    token = binding.bind(approval, user_id=approver.user_id, now=timezone.now())
    posted = {"choice": "decline", "binding": token}
    page = _text(browser.post(_url("inbox_decide", approval), posted, follow=True))
    assert "You declined" in page
    assert "Nothing waits for you." in page
    assert "Last decided by you" in page


def test_what_is_wrong_stands_beside_its_field_and_nothing_is_lost(
    ask: Ask, approver: Member
) -> None:
    approval = ask(fields=NAME)
    response = _decide(approver, approval, **{"field-0": "ab"})
    page = _text(response)
    assert response.status_code == 422
    assert 'aria-invalid="true"' in page
    assert 'aria-describedby="field-0-error field-0-limits"' in page
    assert 'id="field-0-error"' in page
    assert 'value="ab"' in page
    assert not Delivery.objects.exists()
    # and it is there again after a reload
    assert 'value="ab"' in _text(_item(approver, approval))


def test_who_loses_the_race_is_told_who_won_and_keeps_the_words(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval, second = ask(fields=NAME), join()
    token = binding.bind(approval, user_id=second.user_id, now=timezone.now())
    _decide(approver, approval, "decline")
    posted = {"choice": "accept", "binding": token, "field-0": "my long answer"}
    response = _browser(second).post(_url("inbox_decide", approval), posted)
    page = _text(response)
    assert response.status_code == 409
    assert f"{approver.user.name} was first and declined this." in page
    assert "my long answer" in page
    assert 'id="item-form"' not in page
    assert "my long answer" in _text(_item(second, approval))
    assert "my long answer" not in _text(_item(approver, approval))


def test_the_same_post_again_sends_nothing(ask: Ask, approver: Member) -> None:
    approval = ask()
    token = binding.bind(approval, user_id=approver.user_id, now=timezone.now())
    browser, posted = _browser(approver), {"choice": "accept", "binding": token}
    browser.post(_url("inbox_decide", approval), posted)
    response = browser.post(_url("inbox_decide", approval), posted)
    assert response.status_code == 409
    assert "You already accepted this." in _text(response)
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize("posted", [{}, {"choice": "maybe"}, {"choice": "accept"}])
def test_a_post_that_is_not_from_the_form_is_refused(
    ask: Ask, approver: Member, posted: dict[str, str]
) -> None:
    approval = ask()
    response = _browser(approver).post(_url("inbox_decide", approval), posted)
    assert response.status_code == 422
    assert not Delivery.objects.exists()


def test_a_post_without_the_csrf_token_is_refused(ask: Ask, approver: Member) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(approver.user)
    assert browser.post(_url("inbox_decide", ask()), {"choice": "accept"}).status_code == 403


def test_a_role_taken_away_while_the_page_is_open_counts(ask: Ask, approver: Member) -> None:
    approval = ask()
    token = binding.bind(approval, user_id=approver.user_id, now=timezone.now())
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    posted = {"choice": "accept", "binding": token}
    response = _browser(approver).post(_url("inbox_decide", approval), posted)
    assert response.status_code == 422
    assert "your role no longer decides" in _text(response)
    assert Approval.objects.get().state == ApprovalState.OPEN


def test_a_deactivated_person_is_asked_to_sign_in(ask: Ask, approver: Member) -> None:
    approval, browser = ask(), _browser(approver)
    User.objects.filter(pk=approver.user_id).update(is_active=False)
    response = browser.post(_url("inbox_decide", approval), {"choice": "accept"})
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")


def test_an_answer_of_a_round_says_what_it_still_waits_for(ask: Ask, approver: Member) -> None:
    approval = ask(key="a")
    ask(key="b", operation=approval.operation)
    _decide(approver, approval, "accept")
    page = _text(_item(approver, approval))
    assert "once 1 other question of this round has" in page
    assert "Acknowledged" not in page


def test_an_answer_to_a_task_shows_each_step_of_its_way(ask: Ask, approver: Member) -> None:
    approval = ask(source=InputRequestSource.TASK)
    _decide(approver, approval, "accept")
    Delivery.objects.update(sent_at=NOW, acknowledged_at=NOW, state="acknowledged")
    page = _text(_browser(approver).get(_url("inbox_item_live", approval)))
    assert page.count("step-done") == 3
    assert page.count("(not yet)") == 1


# --- links


def test_an_agreed_link_is_opened_by_the_person_and_by_nobody_else(
    ask: Ask, approver: Member, join: Join
) -> None:
    address = "https://pay.example.com/x?a=1&b=2"
    approval = ask(params=url_params(address))
    link = 'href="https://pay.example.com/x?a=1&amp;b=2" target="_blank"'
    before = _text(_item(approver, approval))
    assert "https://pay.example.com/x?a=1&amp;b=2" in before
    assert link not in before
    response = _decide(approver, approval)
    assert response["Location"] == _url("inbox_item", approval)
    after = _text(_item(approver, approval))
    assert link in after
    assert 'rel="noopener noreferrer" referrerpolicy="no-referrer"' in after
    assert link not in _text(_item(join(), approval))


@pytest.mark.parametrize("address", ["http://pay.example.com/", "javascript:alert(1)//x"])
def test_a_link_that_is_not_safe_is_never_one(ask: Ask, approver: Member, address: str) -> None:
    page = _text(_item(approver, ask(params=url_params(address))))
    assert f'href="{address}' not in page
    assert 'value="accept"' not in page


# --- what this desk does not offer


def test_an_unoffered_question_leaves_only_the_operation_to_cancel(
    ask: Ask, approver: Member, operator: Member
) -> None:
    approval = ask(method="sampling/createMessage", problem="This desk does not offer that.")
    page = _text(_item(approver, approval))
    assert "This desk does not offer that." in page
    assert 'name="choice"' not in page
    assert "Cancel the operation" not in page
    assert "Cancel the operation" in _text(_item(operator, approval))


def test_nobody_is_told_to_be_up_where_nothing_can_be_said(ask: Ask, approver: Member) -> None:
    approval = ask(problem="This desk does not offer that.")
    for page in (
        _item(approver, approval),
        _browser(approver).get(_url("inbox_item_live", approval)),
    ):
        assert "Nobody can answer this." in _text(page)
        assert "You are up." not in _text(page)


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (State.LOST, "The server does not know the task. An answer is kept"),
        (State.STUCK, "Its task comes to no end on the server. An answer is still delivered."),
        (State.INPUT_REQUIRED, ""),
    ],
)
def test_an_item_says_what_holds_its_operation_up(
    ask: Ask, approver: Member, state: State, sentence: str
) -> None:
    approval = ask()
    Operation.objects.update(state=state)
    page = _text(_item(approver, approval))
    assert sentence in page
    assert (f"The operation is {state}." in page) is bool(sentence)
    assert "asks nothing new" not in page


def test_a_long_message_is_folded_and_has_to_be_opened(ask: Ask, approver: Member) -> None:
    long, short = ask(message="Tell " * 1000), ask(message="Tell me")
    page = _text(_item(approver, long))
    assert "show all (5000 characters)" in page
    assert '<details class="fold" data-must-open id="message">' in page
    assert "data-must-open" not in _text(_item(approver, short))


def test_an_answer_that_waits_for_others_is_not_said_to_be_on_its_way(
    ask: Ask, approver: Member
) -> None:
    first = ask()
    ask(operation=first.operation)
    page = _text(_decide(approver, first, "decline", headers={"follow": True}))
    assert "It goes out once another question of this round has its answer." in page


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AUDITOR])
def test_an_empty_inbox_tells_those_who_never_answer(join: Join, role: Role) -> None:
    page = _text(_browser(join(role)).get(reverse("inbox")))
    assert "you do not answer questions" in page


def test_an_operator_cancels_the_operation_from_there(
    ask: Ask, approver: Member, operator: Member
) -> None:
    approval = ask(problem="This desk does not offer that.")
    assert _browser(approver).post(_url("inbox_cancel", approval)).status_code == 403
    response = _browser(operator).post(_url("inbox_cancel", approval), follow=True)
    assert "Cancellation of the operation was asked for." in _text(response)
    assert Operation.objects.get().cancel_requested_by == operator.user
    again = _browser(operator).post(_url("inbox_cancel", approval), follow=True)
    assert "The operation has ended" in _text(again)


# --- not now, drafts


def test_not_now_keeps_the_words_and_goes_on(ask: Ask, approver: Member) -> None:
    approval, following = ask(fields=NAME), ask()
    posted = {"field-0": "half"}
    response = _browser(approver).post(_url("inbox_snooze", approval), posted)
    assert response["Location"] == _url("inbox_item", following)
    draft = drafts.load(approval, approver.user)
    assert draft is not None
    assert draft.submitted == {"name": "half"}
    listed = _text(_browser(approver).get(reverse("inbox")))
    assert "1 put aside" in listed
    back = _browser(approver).post(_url("inbox_snooze", approval), {"until": "now"})
    assert back["Location"] == _url("inbox_item", approval)
    assert "put aside" not in _text(_browser(approver).get(reverse("inbox")))


def test_a_draft_is_kept_while_one_types_and_seen_by_nobody_else(
    ask: Ask, approver: Member, join: Join
) -> None:
    approval = ask(fields=NAME)
    posted = {"field-0": "half a wor"}
    said = _browser(approver).post(_url("inbox_draft", approval), posted, HTTP_HX_REQUEST="true")
    assert "Draft kept" in _text(said)
    assert 'value="half a wor"' in _text(_item(approver, approval))
    assert "half a wor" not in _text(_item(join(), approval))


def test_who_may_not_decide_keeps_no_draft(ask: Ask, join: Join) -> None:
    approval, viewer = ask(fields=NAME), join(Role.VIEWER)
    _browser(viewer).post(_url("inbox_draft", approval), {"field-0": "x"})
    assert drafts.load(approval, viewer.user) is None


# --- other teams


GETS = ("inbox_item", "inbox_item_live")
POSTS = ("inbox_decide", "inbox_snooze", "inbox_draft", "inbox_cancel")


def test_nothing_of_another_team_can_be_known_by_any_address(ask: Ask) -> None:
    approval = ask()
    membership = MembershipFactory(role=Role.ADMIN)
    browser = Client()
    browser.force_login(membership.user)
    for address in (lambda name: _url(name, approval), lambda name: reverse(name, args=[uuid4()])):
        answers = [browser.get(address(name)) for name in GETS]
        answers += [browser.post(address(name), {"choice": "accept"}) for name in POSTS]
        assert [answer.status_code for answer in answers] == [404] * 6
        assert not any(approval.operation.tool_name in _text(answer) for answer in answers)


def test_whoever_is_not_signed_in_is_sent_to_sign_in(ask: Ask) -> None:
    approval = ask()
    for name in GETS:
        response = Client().get(_url(name, approval))
        assert response["Location"].startswith("/accounts/login/")
    for name in POSTS:
        assert Client().post(_url(name, approval)).status_code == 302
    assert Client().get(reverse("inbox"))["Location"] == "/accounts/login/?next=/inbox/"


def test_a_link_to_an_item_of_another_of_my_teams_opens_that_team(
    ask: Ask, approver: Member
) -> None:
    approval = ask()
    MembershipFactory(user=approver.user, team__name="A first team")
    browser = _browser(approver)
    assert "Nothing waits for you." in _text(browser.get(reverse("inbox")))
    assert "You are up." in _text(browser.get(_url("inbox_item", approval)))
    assert "Nothing waits for you." not in _text(browser.get(reverse("inbox")))


# --- lists, partials, cost


def test_nothing_waiting_is_not_the_same_as_nothing_matching(
    ask: Ask, approver: Member, join: Join
) -> None:
    ask()
    matching = _text(_browser(approver).get(reverse("inbox"), {"tool": "no-such-tool"}))
    assert "Nothing matches these filters." in matching
    assert "Nothing waits for you." not in matching
    assert "Nothing waits for you." in _text(_browser(join(Role.VIEWER)).get(reverse("inbox")))


def test_a_list_goes_on_on_another_page_with_the_same_filters(
    ask: Ask, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "PAGE_ROWS", 1)
    ask()
    ask()
    browser = _browser(approver)
    page = _text(browser.get(reverse("inbox"), {"tool": "deploy"}))
    more = page.split('class="btn inbox-more" href="')[1].split('"')[0].replace("&amp;", "&")
    assert "tool=deploy" in more
    assert "inbox-more" not in _text(browser.get(more))


def test_htmx_gets_the_item_or_the_list_alone(ask: Ask, approver: Member) -> None:
    approval, browser = ask(), _browser(approver)
    item = browser.get(_url("inbox_item", approval), **HTMX)
    assert "<html" not in _text(item)
    assert item["HX-Push-Url"] == _url("inbox_item", approval)
    listed = browser.get(reverse("inbox"), **{**HTMX, "HTTP_HX_TARGET": "inbox-list"})
    assert _text(listed).strip().startswith('<div id="inbox-list"')


def test_htmx_that_is_refused_swaps_the_reasons_in(ask: Ask, approver: Member) -> None:
    response = _decide(approver, ask(fields=NAME), headers=HTMX, **{"field-0": "x"})
    assert response.status_code == 200
    assert "<html" not in _text(response)
    assert 'id="field-0-error"' in _text(response)


def test_live_parts_hold_no_form(ask: Ask, approver: Member) -> None:
    page = _text(_browser(approver).get(_url("inbox_item_live", ask(fields=NAME))))
    assert "<form" not in page
    assert "<input" not in page


def _queries(browser: Client, path: str) -> int:
    browser.get(path)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        browser.get(path)
    return len(queries)


def test_pages_cost_the_same_however_much_waits(ask: Ask, approver: Member) -> None:
    browser, approval, _ = _browser(approver), ask(fields=NAME), ask()
    paths = [reverse("inbox"), _url("inbox_item", approval), _url("inbox_item_live", approval)]
    before = [_queries(browser, path) for path in paths]
    for _ in range(6):
        ask()
    assert [_queries(browser, path) for path in paths] == before


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_what_just_happened_is_said_once(
    ask: Ask, approver: Member, headers: dict[str, str]
) -> None:
    approval, browser = ask(), _browser(approver)
    token = binding.bind(approval, user_id=approver.user_id, now=timezone.now())
    posted = {"choice": "accept", "binding": token}
    page = browser.post(_url("inbox_decide", approval), posted, follow=True, **headers)
    assert _text(page).count("You accepted") == 1


@pytest.mark.parametrize(
    ("identity", "auth_kind", "shown"),
    [
        ("platform-bot", "bearer", "as <strong>platform-bot</strong>"),
        ("", "bearer", "with its own credential"),
        ("", "none", "without a sign-in"),
    ],
)
def test_an_item_says_who_we_are_on_the_server(
    ask: Ask, approver: Member, identity: str, auth_kind: str, shown: str
) -> None:
    approval = ask()
    server = approval.operation.server
    server.identity, server.auth_kind = identity, auth_kind
    server.save()
    assert shown in _text(_item(approver, approval))


def test_hidden_characters_in_a_choice_are_warned_about(ask: Ask, approver: Member) -> None:
    choices = [{"const": "a", "title": "A\u202e"}, {"const": "b", "title": "B"}]
    page = _text(_item(approver, ask(fields={"a": {"type": "string", "oneOf": choices}})))
    assert "change its reading direction" in page


@pytest.mark.parametrize("opened", [True, False])
def test_the_page_has_one_heading_whether_an_item_is_opened_or_not(
    ask: Ask, approver: Member, opened: bool
) -> None:
    approval = ask()
    path = f"/inbox/{approval.pk}/" if opened else "/inbox/"
    page = _text(_browser(approver).get(path))
    assert page.count("<h1") == 1
    assert page.index("<h1") < page.index('id="item-title"')
