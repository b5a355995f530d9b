"""The inbox in real browsers: two people at once, keys, drafts, and what axe finds."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    Route,
    expect,
    sync_playwright,
)

from approvals import intake
from approvals.models import Approval, Choice, SavedFilter, Vote
from mcpdesk.accounts.access import Member
from tasks_monitor.models import InputRequest, InputRequestState
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate
from tests.browser.people import until
from tests.factories import NOW, url_params
from tests.web.conftest import _no_connections_left, desk_url, live_layer  # noqa: F401

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NAME = {"name": {"type": "string"}}
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # playwright keeps a loop in this thread, which Django would take for an asynchronous one
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=path, args=quiet)
        yield browser
        browser.close()


@pytest.fixture
def open_page(
    chromium: Browser,
    desk_url: str,  # noqa: F811 - a fixture
) -> Iterator[Open]:
    """open_page(member, path) is a live page; at the end no console has said anything."""
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def open_page(member: Member, path: str, **options: Any) -> Page:
        context = chromium.new_context(base_url=desk_url, **options)
        contexts.append(context)
        context.add_cookies([{**_session(member), "url": desk_url}])
        page = context.new_page()
        page.on(
            "console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path)
        expect(page.locator("[data-live-word]")).to_have_text("live")
        return page

    yield open_page
    for context in contexts:
        context.close()
    # 503 is what a test answers itself, in place of a desk that is away
    assert [line for line in said if "503" not in line] == []


def _session(member: Member) -> dict[str, str]:
    client = Client()
    client.force_login(member.user)
    return {"name": "sessionid", "value": client.cookies["sessionid"].value}


def _path(approval: Approval) -> str:
    return f"/inbox/{approval.pk}/"


def _left(page: Page, approval: Approval) -> None:
    page.wait_for_url(lambda url: str(approval.pk) not in url)


def test_who_loses_the_race_sees_it_at_once_and_keeps_every_word(
    ask: Ask, approver: Member, join: Join, open_page: Open
) -> None:
    approval = ask(fields=NAME)
    first, second = (open_page(member, _path(approval)) for member in (approver, join()))
    second.fill("[name=field-0]", "my own words")
    first.fill("[name=field-0]", "api")
    first.click("button[value=accept]")
    expect(first.get_by_text("You accepted")).to_be_visible()
    expect(second.locator("#form-stop")).to_contain_text(f"Answered by {approver.user.name}")
    expect(second.locator("[name=field-0]")).to_have_value("my own words")
    expect(second.locator("button[value=accept]")).to_be_disabled()
    second.wait_for_load_state("networkidle")
    second.reload()
    expect(second.locator("#typed-title + dl")).to_contain_text("my own words")


def test_a_page_nobody_types_in_follows_by_itself(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    approval = ask(fields=NAME)
    page = open_page(approver, _path(approval))
    InputRequest.objects.update(state=InputRequestState.WITHDRAWN, version=2)
    intake.take_in(approval.operation_id, now=NOW)
    expect(page.locator(".item-banner")).to_contain_text("The server withdrew this")
    expect(page.locator("#item-form")).to_have_count(0)


def test_a_new_question_appears_in_an_open_list(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    page = open_page(approver, "/inbox/")
    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    approval = ask()
    expect(page.locator(f"#row-{approval.pk}")).to_be_visible()
    expect(page.locator("#inbox-badge")).to_contain_text("1")


def test_a_mistake_is_brought_into_view_with_the_focus(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    many = {f"f{number}": {"type": "string"} for number in range(12)}
    approval = ask(fields={**many, "mail": {"type": "string", "format": "email"}})
    page = open_page(approver, _path(approval), viewport={"width": 390, "height": 640})
    for number in range(12):
        page.fill(f"[name=field-{number}]", "x")
    page.fill("[name=field-12]", "not an address")
    page.click("button[value=accept]")
    field = page.locator("[name=field-12]")
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()


def test_an_answer_that_travels_slowly_says_so_and_goes_once(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    approval = ask()
    page = open_page(approver, _path(approval))
    held: list[Route] = []
    page.route("**/decide/", lambda route: held.append(route))
    button = page.locator("button[value=accept]")
    button.click()
    expect(button).to_have_attribute("aria-busy", "true")
    expect(page.locator("#form-sending")).to_contain_text("Sending")
    button.click(force=True)
    assert len(held) == 1
    held[0].continue_()
    _left(page, approval)


def test_going_back_finds_the_page_live(ask: Ask, approver: Member, open_page: Open) -> None:
    first, second = ask(), ask()
    page = open_page(approver, _path(first))
    page.click("button[value=accept]")
    page.wait_for_url(f"**{_path(second)}")
    page.go_back()
    expect(page.locator(".item-banner")).to_contain_text("You accepted this")
    expect(page.locator("[data-live-word]")).to_have_text("live")


def test_escape_closes_the_filter(ask: Ask, approver: Member, open_page: Open) -> None:
    ask()
    page = open_page(approver, "/inbox/")
    page.keyboard.press("/")
    expect(page.locator("#filter-text")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#inbox-filter")).not_to_have_attribute("open", "")
    expect(page.locator("#inbox-filter summary")).to_be_focused()


def test_what_is_typed_survives_a_reload(ask: Ask, approver: Member, open_page: Open) -> None:
    page = open_page(approver, _path(ask(fields=NAME)))
    page.locator("[name=field-0]").press_sequentially("half a wor")
    expect(page.locator("#draft-note")).to_contain_text("Draft kept")
    page.reload()
    expect(page.locator("[name=field-0]")).to_have_value("half a wor")


def test_a_refused_answer_puts_the_focus_on_the_first_thing_to_mend(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    fields = {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 5}}
    page = open_page(approver, _path(ask(fields=fields)))
    page.fill("[name=field-0]", "x")
    page.fill("[name=field-1]", "4")
    page.click("button[value=accept]")
    expect(page.locator("#field-1-error")).to_be_visible()
    expect(page.locator("[name=field-1]")).to_be_focused()
    expect(page.locator("[name=field-0]")).to_have_value("x")


def test_a_refusal_without_a_reason_puts_the_focus_on_the_reason(
    operator: Member, approver: Member, open_page: Open
) -> None:
    page = open_page(approver, _path(a_gate(operator)), viewport={"width": 390, "height": 640})
    page.click("#item-form button[value=deny]")
    expect(page.locator("#reason")).to_be_focused()
    expect(page.locator("#reason")).to_be_in_viewport()


def test_keys_move_open_and_decide(ask: Ask, approver: Member, open_page: Open) -> None:
    # asked at the same moment: the id decides
    first, second = sorted((ask(), ask()), key=lambda approval: approval.pk)
    page = open_page(approver, "/inbox/")
    rows = page.locator("[data-row]")
    page.keyboard.press("j")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{_path(second)}")
    page.keyboard.press("d")
    page.wait_for_url(f"**{_path(first)}")
    page.keyboard.press("a")
    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    second.refresh_from_db()
    first.refresh_from_db()
    assert (first.decision, second.decision) == (Choice.ACCEPT, Choice.DECLINE)


def test_no_key_does_anything_while_one_types(ask: Ask, approver: Member, open_page: Open) -> None:
    approval = ask(fields=NAME)
    page = open_page(approver, _path(approval))
    page.locator("[name=field-0]").press_sequentially("ad?/j")
    expect(page.locator("[name=field-0]")).to_have_value("ad?/j")
    expect(page.locator("#keys")).to_be_hidden()
    page.locator("#item-title").focus()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("d")
    page.keyboard.press("Escape")
    approval.refresh_from_db()
    assert approval.is_open


def test_keys_can_be_switched_off(ask: Ask, approver: Member, open_page: Open) -> None:
    approval = ask()
    page = open_page(approver, _path(approval))
    page.keyboard.press("?")
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    page.reload()
    page.keyboard.press("d")
    approval.refresh_from_db()
    assert approval.is_open


def test_approving_waits_until_every_long_value_was_opened(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    approval = ask(arguments={"a": "x" * 500, "b": "y" * 500})
    page = open_page(approver, _path(approval))
    approve = page.locator("button[value=accept]")
    expect(approve).to_be_disabled()
    expect(page.locator("button[value=decline]")).to_be_enabled()
    page.locator("#argument-1 summary").click()
    expect(approve).to_be_disabled()
    page.locator("#argument-2 summary").click()
    expect(approve).to_be_enabled()


def test_a_page_without_javascript_answers_too(
    ask: Ask,
    approver: Member,
    chromium: Browser,
    desk_url: str,  # noqa: F811
) -> None:
    approval = ask(fields=NAME, arguments={"a": "x" * 500})
    context = chromium.new_context(base_url=desk_url, java_script_enabled=False)
    context.add_cookies([{**_session(approver), "url": desk_url}])
    page = context.new_page()
    page.goto(_path(approval))
    page.locator("#argument-1 summary").click()
    page.check("[name=opened]")
    page.fill("[name=field-0]", "api")
    page.press("[name=field-0]", "Enter")
    expect(page.get_by_text("You accepted")).to_be_visible()
    context.close()
    approval.refresh_from_db()
    assert approval.decision == Choice.ACCEPT


def _every_kind_of_item(ask: Ask) -> list[Approval]:
    every_field = {
        "text": {"type": "string", "default": "theirs"},
        "lines": {"type": "string", "maxLength": 900},
        "day": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "size": {"type": "integer", "minimum": 0},
        "keep": {"type": "boolean", "default": False},
        "window": {"type": "string", "enum": ["now", "later"]},
        "region": {"type": "string", "enum": list("abcdefgh")},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
        "password": {"type": "string"},
    }
    return [
        ask(fields=every_field, arguments={"artifact": "x" * 500, "deep": {"a": [1, None]}}),
        ask(message="Sure?\u202e", round=2, revision=2),
        ask(params=url_params("https://pay.example.com/x")),
        ask(fields={"nested": {"type": "object"}}),
        ask(problem="This desk does not offer that."),
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_of_the_inbox_keeps_anybody_out(
    ask: Ask, approver: Member, open_page: Open, scheme: str, width: int
) -> None:
    items = _every_kind_of_item(ask)
    paths = ["/inbox/", "/inbox/?tab=team&tool=none", *(_path(item) for item in items)]
    page = open_page(
        approver,
        "/inbox/",
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
        reduced_motion="reduce",
    )
    for path in paths:
        page.goto(path)
        found = Axe().run(page).response["violations"]
        assert [(path, rule["id"], rule["nodes"][0]["html"]) for rule in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_an_answer_that_did_not_get_through_can_be_pressed_again(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    approval = ask(fields=NAME)
    page = open_page(approver, _path(approval))
    page.fill("[name=field-0]", "api")
    page.route("**/decide/", lambda route: route.fulfill(status=503, body=""))
    page.click("button[value=accept]")
    expect(page.locator("#form-stop")).to_contain_text("What you typed is still here.")
    page.unroute("**/decide/")
    page.click("button[value=accept]")
    _left(page, approval)
    approval.refresh_from_db()
    assert approval.decision == Choice.ACCEPT


def test_a_list_keeps_its_filters_while_items_are_opened(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    approval = ask()
    page = open_page(approver, "/inbox/?tab=team&tool=deploy")
    page.click(f"#row-{approval.pk}")
    page.wait_for_url(f"**{_path(approval)}?tab=team&tool=deploy")
    page.reload()
    expect(page.locator("#filter-tool")).to_have_value("deploy")
    expect(page.locator(f"#row-{approval.pk}")).to_have_attribute("aria-current", "true")


def test_a_click_on_what_is_opened_already_fetches_nothing_and_keeps_what_is_typed(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    approval = ask(fields=NAME)
    page = open_page(approver, "/inbox/", viewport={"width": 1440, "height": 900})
    page.fill("[name=field-0]", "half a wor")
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.click(f"#row-{approval.pk}")
    page.wait_for_url(f"**{_path(approval)}")
    expect(page.locator("#item-title")).to_be_focused()
    expect(page.locator("[name=field-0]")).to_have_value("half a wor")
    assert [url for url in fetched if url.endswith(_path(approval))] == []


def test_after_a_decision_the_next_one_that_fits_opens(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    form, first, second = ask(fields=NAME), *sorted((ask(), ask()), key=lambda one: one.pk)
    page = open_page(approver, "/inbox/?shape=confirm")
    page.click(f"#row-{first.pk}")
    page.wait_for_url(f"**{_path(first)}?shape=confirm")
    page.keyboard.press("a")
    page.wait_for_url(f"**{_path(second)}?shape=confirm")
    page.keyboard.press("a")
    page.wait_for_url("**/inbox/?shape=confirm")
    expect(page.get_by_text("Nothing matches these filters.")).to_be_visible()
    form.refresh_from_db()
    assert form.is_open


def _is_above(one: Locator, other: Locator) -> bool:
    """A region that is being replaced has no place for a moment."""
    above, below = one.bounding_box(), other.bounding_box()
    return above is not None and below is not None and above["y"] < below["y"]


def test_on_a_phone_what_came_of_the_last_item_stands_above_the_empty_list(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    approval = ask(fields=NAME)
    page = open_page(approver, _path(approval), viewport={"width": 390, "height": 844})
    page.fill("[name=field-0]", "api")
    page.click("button[value=accept]")
    said, empty = page.get_by_text("You accepted"), page.get_by_text("Nothing waits for you.")
    expect(said).to_be_visible()
    expect(empty).to_be_visible()
    until(lambda: _is_above(said, empty))
    expect(page.locator("#main")).to_be_focused()


def test_keys_pick_several_and_decide_them_after_one_more_question(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    approvals = sorted((ask() for _ in range(3)), key=lambda one: one.pk)
    page = open_page(approver, "/inbox/")
    for key in "xjx":
        page.keyboard.press(key)
    expect(page.locator("#picked-count")).to_have_text("2 picked")
    # a list that changes by itself keeps what is picked
    late = ask()
    expect(page.locator(f"#row-{late.pk}")).to_be_visible()
    expect(page.locator("[data-pick]:checked")).to_have_count(2)
    page.keyboard.press("a")
    expect(page.locator("#item-title")).to_have_text("You are about to approve 2 items")
    assert Vote.objects.count() == 0
    page.keyboard.press("a")
    expect(page.locator("#item-title")).to_have_text("2 decided")
    expect(page.locator("[data-row]")).to_have_count(2)
    expect(page.locator("#inbox-picked")).to_be_hidden()
    for approval in approvals:
        approval.refresh_from_db()
    assert [one.is_open for one in approvals] == [False, False, True]


def test_several_are_decided_without_javascript(
    ask: Ask,
    approver: Member,
    chromium: Browser,
    desk_url: str,  # noqa: F811
) -> None:
    picked, left = ask(), ask()
    context = chromium.new_context(base_url=desk_url, java_script_enabled=False)
    context.add_cookies([{**_session(approver), "url": desk_url}])
    page = context.new_page()
    page.goto("/inbox/")
    page.check(f"#pick-{picked.pk}")
    page.click("#inbox-picked [value=deny]")
    page.fill("#reason", "not now")
    page.click("#several-form [value=deny]")
    expect(page.locator("#item-title")).to_have_text("1 decided")
    context.close()
    picked.refresh_from_db()
    left.refresh_from_db()
    assert (picked.decision, left.is_open) == (Choice.DECLINE, True)


def test_a_key_claims_what_is_opened_and_gives_it_back(
    ask: Ask, approver: Member, open_page: Open
) -> None:
    approval = ask()
    page = open_page(approver, _path(approval))
    page.keyboard.press("c")
    expect(page.locator(f"#row-{approval.pk}")).to_contain_text("claimed by you")
    page.locator("#item-title").focus()
    page.keyboard.press("c")
    expect(page.locator(f"#row-{approval.pk}")).not_to_contain_text("claimed by you")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_page_of_several_items_keeps_anybody_out(
    ask: Ask, approver: Member, open_page: Open, scheme: str, width: int
) -> None:
    first, second, form = ask(), ask(), ask(fields=NAME)
    SavedFilter.objects.create(team=approver.team, user=approver.user, name="x", query="tool=x")
    picked = "&".join(f"item={one.pk}" for one in (first, second, form))
    size = {"width": width, "height": 900}
    page = open_page(approver, "/inbox/", color_scheme=scheme, viewport=size)
    page.check(f"#pick-{first.pk}")
    for path in ("", f"/inbox/several/?choice=deny&{picked}", "/inbox/filters/"):
        if path:
            page.goto(path)
        found = Axe().run(page).response["violations"]
        assert [(path, rule["id"], rule["nodes"][0]["html"]) for rule in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
