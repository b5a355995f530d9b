"""Live pages in a real browser, on a running desk."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as django_settings
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, WebSocketRoute, expect

from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import DESK, record
from tasks_monitor.models import HistoryEntry, Hold, Operation, Server, Tool
from tasks_monitor.states import State
from tests.factories import MembershipFactory, OperationFactory, PolicyRuleFactory, ServerFactory
from tests.web.test_consumer import sign_in

pytestmark = pytest.mark.browser

#: What the issue promises for a change to reach an open page, and the page's own request.
WITHIN_MS = 2_000


@pytest.fixture
def operator(live_layer: str) -> Membership:
    return MembershipFactory(role=Role.OPERATOR)


@pytest.fixture
def server(operator: Membership) -> Server:
    return ServerFactory(team=operator.team, name="build-server")


Open = Callable[..., Page]


@pytest.fixture
def open_as(chromium: Browser, desk_url: str) -> Iterator[Open]:
    """Opens a page as a member; a page that logs an error fails its test."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def open_one(member: Membership, path: str, **options: Any) -> Page:
        context = chromium.new_context(base_url=desk_url, **options)
        contexts.append(context)
        name = django_settings.SESSION_COOKIE_NAME
        cookie = {"name": name, "value": sign_in(member.user, member.team), "url": desk_url}
        context.add_cookies([cookie])  # type: ignore[list-item]
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.goto(path)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not problems


def is_live(page: Page) -> None:
    expect(page.locator("[data-live-word]")).to_have_text("live", timeout=10_000)


def move(operation: Operation, after: State, **columns: Any) -> None:
    """What the engine does, as one commit: the row and its event."""
    before, now = operation.state, timezone.now()
    with transaction.atomic():
        Operation.objects.filter(pk=operation.pk).update(state=after, updated_at=now, **columns)
        line = {"finished_at": columns["finished_at"], "took_ms": 0} if columns else {}
        HistoryEntry.objects.filter(pk=operation.pk).update(state=after, state_since=now, **line)
        record(
            "operation.moved",
            team_id=operation.team_id,
            actor=DESK,
            now=now,
            operation_id=operation.pk,
            server_id=operation.server_id,
            before=before,
            after=after.value,
            reason="test",
        )


def test_a_change_reaches_open_pages_by_itself(
    operator: Membership, server: Server, open_as: Open
) -> None:
    operation = OperationFactory(server=server, state=State.WORKING, task_id="t")
    page = open_as(operator, f"/operations/{operation.pk}/")
    listed = open_as(operator, "/operations/")
    is_live(page)
    is_live(listed)
    move(operation, State.COMPLETED, finished_at=timezone.now())
    expect(page.locator(".state-line")).to_contain_text("Completed", timeout=WITHIN_MS)
    expect(page.locator("#operation-actions button")).to_have_count(0, timeout=WITHIN_MS)
    expect(listed.locator("#operation-list")).to_contain_text(
        "Nothing is running", timeout=WITHIN_MS
    )


@pytest.mark.parametrize("whole_team", [False, True])
def test_a_hold_is_said_on_open_pages_by_itself_and_so_is_its_end(
    operator: Membership, server: Server, open_as: Open, whole_team: bool
) -> None:
    operation = OperationFactory(server=server, state=State.READY)
    viewer = MembershipFactory(team=operator.team, role=Role.VIEWER)
    pages = [open_as(viewer, "/inbox/"), open_as(operator, f"/operations/{operation.pk}/")]
    for page in pages:
        is_live(page)
    with_js = open_as(operator, "/holds/new/" if whole_team else f"/holds/new/?server={server.pk}")
    with_js.get_by_label("Why").fill("Odd payments")
    with_js.get_by_role("button", name="Stop sending").click()
    for page in pages:
        banner = page.locator("#holds")
        expect(banner).to_contain_text("says", timeout=WITHIN_MS)
        expect(banner).to_contain_text("Odd payments")
    expect(pages[1].locator("#operation-state")).to_contain_text("Held: nothing is sent")

    admin = open_as(MembershipFactory(team=operator.team, role=Role.ADMIN), "/team/")
    admin.get_by_role("link", name="End the hold").click()
    admin.get_by_role("button", name="End the hold").click()
    for page in pages:
        expect(page.locator("#holds")).not_to_contain_text("says", timeout=WITHIN_MS)


def test_what_is_typed_on_a_repair_stays_when_the_operation_moves(
    operator: Membership, server: Server, open_as: Open
) -> None:
    operation = OperationFactory(server=server, state=State.UNKNOWN)
    page = open_as(operator, f"/operations/{operation.pk}/reconcile/")
    is_live(page)
    reason = page.get_by_label("Why")
    reason.press_sequentially("I looked at the")
    move(operation, State.COMPLETED, finished_at=timezone.now())
    reason.press_sequentially(" server")
    expect(reason).to_have_value("I looked at the server")
    expect(reason).to_be_focused()


def test_what_was_opened_stays_open(operator: Membership, server: Server, open_as: Open) -> None:
    operation = OperationFactory(server=server, arguments={"long": "word " * 400})
    page = open_as(operator, f"/operations/{operation.pk}/")
    is_live(page)
    page.locator("summary", has_text="word").click()
    move(operation, State.WORKING)
    expect(page.locator(".tl")).to_contain_text("working", timeout=WITHIN_MS)
    expect(page.locator("details#arg-1")).to_have_attribute("open", "")


def test_the_focus_stays_where_it_was_while_pages_follow(
    operator: Membership, server: Server, open_as: Open
) -> None:
    first, second = (OperationFactory(server=server, state=State.WORKING) for _ in range(2))
    listed, page = open_as(operator, "/operations/"), open_as(operator, f"/operations/{first.pk}/")
    is_live(listed)
    is_live(page)
    row = f'#operation-list a[href="/operations/{first.pk}/"]'
    listed.locator(row).focus()
    link = "#operation-state .page-head a"
    page.locator(link).focus()
    move(second, State.UNKNOWN)
    expect(listed.locator("#operation-list")).to_contain_text("unknown", timeout=WITHIN_MS)
    expect(listed.locator(row)).to_be_focused()
    move(first, State.STUCK)
    expect(page.locator(".state-line")).to_contain_text("Stuck", timeout=WITHIN_MS)
    expect(page.locator(link)).to_be_focused()


def test_a_removed_member_sees_the_page_go_dead(
    operator: Membership, server: Server, open_as: Open
) -> None:
    operation = OperationFactory(server=server, state=State.WORKING)
    page = open_as(operator, f"/operations/{operation.pk}/")
    is_live(page)
    page.wait_for_load_state("networkidle")
    who = {"actor": DESK, "now": timezone.now(), "person": operator.user}
    with transaction.atomic():
        operator.delete()
        record("member.removed", team_id=operator.team_id, **who)
    expect(page.locator("[data-live-word]")).to_have_text("no longer in this team")
    expect(page.get_by_role("alert")).to_contain_text("You are no longer in this team.")
    expect(page.get_by_role("link", name="Open it anew")).to_be_visible()


class Wire:
    """The way between a page's socket and the desk, which a test can cut."""

    def __init__(self, page: Page) -> None:
        self.whole = True
        self.routes: list[WebSocketRoute] = []
        page.route_web_socket("**/ws/live/", self._opened)

    def _opened(self, route: WebSocketRoute) -> None:
        if not self.whole:
            route.close(code=1012)
            return
        self.routes.append(route)
        route.connect_to_server()

    def cut(self) -> None:
        self.whole = False
        for route in self.routes:
            route.close(code=1012)


def test_after_a_broken_connection_the_page_refreshes_and_says_live_again(
    operator: Membership, server: Server, open_as: Open
) -> None:
    operation = OperationFactory(server=server, state=State.WORKING)
    page = open_as(operator, "about:blank")
    wire = Wire(page)
    page.goto(f"/operations/{operation.pk}/")
    is_live(page)
    wire.cut()
    expect(page.locator("[data-live-word]")).to_have_text("reconnecting")
    move(operation, State.CANCELLED, finished_at=timezone.now())
    expect(page.locator(".state-line")).to_contain_text("Running")
    wire.whole = True
    is_live(page)
    expect(page.locator(".state-line")).to_contain_text("Cancelled", timeout=WITHIN_MS)


def test_a_page_that_stays_cut_off_says_that_it_is_not_live(
    operator: Membership, open_as: Open
) -> None:
    page = open_as(operator, "about:blank")
    wire = Wire(page)
    wire.cut()
    page.goto("/team/")
    expect(page.locator("[data-live-word]")).to_have_text("not live", timeout=20_000)


def test_without_javascript_a_tool_is_started_and_its_page_read(
    operator: Membership, server: Server, open_as: Open
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "title": "Number"}}}
    definition = {"name": "count", "inputSchema": schema}
    Tool.objects.create(server=server, name="count", definition=definition)
    PolicyRuleFactory(team=operator.team)
    page = open_as(operator, "/operations/new/", java_script_enabled=False)
    page.get_by_role("link", name="build-server").click()
    page.get_by_label("Search tools").fill("cou")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="count").click()
    page.get_by_label("Number").fill("3")
    page.get_by_label("Reason").fill("to see")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("h1")).to_have_text("count")
    expect(page.locator(".state-line")).to_contain_text("Ready to be sent")
    page.locator("#cancel-operation summary").click()
    page.get_by_role("button", name="Ask to cancel").click()
    expect(page.locator(".state-line")).to_contain_text("Cancelled")


def test_tools_are_found_while_typing_without_losing_a_letter(
    operator: Membership, server: Server, open_as: Open
) -> None:
    for name in ("deploy", "report"):
        Tool.objects.create(server=server, name=name, definition={"name": name})
    page = open_as(operator, f"/operations/new/?server={server.pk}")
    page.get_by_label("Search tools").press_sequentially("rep")
    expect(page.locator("#tool-list .row-item")).to_have_count(1)
    expect(page.get_by_label("Search tools")).to_have_value("rep")
    expect(page.get_by_label("Search tools")).to_be_focused()


def test_the_look_follows_the_system_until_one_is_chosen_and_is_remembered(
    operator: Membership, open_as: Open
) -> None:
    page = open_as(operator, "/team/", color_scheme="dark")
    html = page.locator("html")
    expect(html).to_have_attribute("data-bs-theme", "dark")
    page.locator("details.rail-user summary").click()
    page.get_by_role("button", name="Light").click()
    expect(html).to_have_attribute("data-bs-theme", "light")
    page.goto("/profile/")
    expect(html).to_have_attribute("data-bs-theme", "light")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_pages_are_accessible_and_fit(
    operator: Membership, server: Server, open_as: Open, scheme: str, width: int
) -> None:
    """axe on every page of operations, servers, team and account."""
    Membership.objects.filter(pk=operator.pk).update(role=Role.ADMIN)
    Tool.objects.create(server=server, name="deploy", definition={"name": "deploy"})
    stuck = OperationFactory(server=server, state=State.STUCK, task_id="t")
    ended = OperationFactory(
        server=server, state=State.COMPLETED, is_error=True, finished_at=timezone.now()
    )
    # its banner is on every page
    hold = Hold.objects.create(
        team=operator.team,
        reason="Payments that nobody asked for " * 5,
        since=timezone.now(),
        begun_by=operator.user,
    )
    size = {"width": width, "height": 900}
    page = open_as(operator, "/team/", color_scheme=scheme, viewport=size)
    found: dict[str, Any] = {}
    for path in (
        "/team/",
        "/profile/",
        "/accounts/password/change/",
        "/accounts/2fa/",
        "/operations/",
        f"/operations/{stuck.pk}/",
        f"/operations/{ended.pk}/",
        "/operations/new/",
        f"/operations/new/?server={server.pk}",
        f"/operations/new/?server={server.pk}&tool=deploy",
        "/operations/adopt/",
        "/servers/",
        f"/servers/{server.pk}/",
        "/servers/new/",
        f"/servers/{server.pk}/edit/",
        f"/holds/new/?server={server.pk}",
        f"/holds/{hold.pk}/end/",
        "/health/desk/",
    ):
        page.goto(path)
        violations = Axe().run(page).response["violations"]
        found |= {path: [v["id"] for v in violations]} if violations else {}
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.locator("details.rail-user summary").click()
    menu = Axe().run(page).response["violations"]
    assert (found, [v["id"] for v in menu]) == ({}, [])


def test_on_a_phone_the_place_one_is_at_stands_in_sight(
    operator: Membership, open_as: Open
) -> None:
    page = open_as(operator, "/team/", viewport={"width": 390, "height": 844})
    here = page.locator(".rail-nav [aria-current]")
    expect(here).to_have_text("Team")
    expect(here).to_be_in_viewport(ratio=0.9)
