"""The main job in browsers: started by one, answered by another, finished, seen by a third."""

import re
from collections.abc import Callable
from datetime import datetime

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Approval
from tests.browser.people import SOON_MS, Crew, Person, crew, open_row, rows, say_yes, state
from tests.browser.whole_desk import WholeDesk
from tests.peers.processes import Peer

pytestmark = pytest.mark.browser

#: A second is promised; this machine may be running everything else at the same time.
LIVE_WITHIN_S = 4.0

# the page notes by its own clock when the first item appears in its list
NOTE_ARRIVAL = """() => {
  const note = () => {
    if (!window.arrivedAt && document.querySelector("[data-row]")) window.arrivedAt = Date.now();
  };
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true });
}"""


@pytest.fixture(params=["embedded", "redis"])
def whole(request: pytest.FixtureRequest) -> WholeDesk:
    """Each configuration of broker and channel layer."""
    names = {"embedded": "desk", "redis": "redis_desk"}
    found: WholeDesk = request.getfixturevalue(names[request.param])
    return found


def _start(page: Page, server: int, tool: str, reason: str) -> None:
    """From the start page to the operation's page."""
    page.get_by_role("link", name="Start a tool").first.click()
    page.locator(f"a[href*='server={server}']").first.click()
    page.get_by_role("link", name=re.compile(tool)).first.click()
    page.get_by_label("project").fill("api")
    page.get_by_label("Reason").fill(reason)
    page.get_by_label("Questions of the server go to").select_option("approvers")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"/operations/[0-9a-f-]{36}/"))


def _seconds_to_arrive(page: Page, asked_at: datetime) -> float:
    """From the commit of the oldest item to its row, by the clock of the page."""
    arrived_ms = page.evaluate("window.arrivedAt")
    return float(arrived_ms) / 1000 - asked_at.timestamp()


def test_a_tool_is_started_asked_about_answered_and_seen_to_finish(
    whole: WholeDesk,
    employ_at: Callable[[WholeDesk], Callable[..., Person]],
    fastmcp_peer: Peer,
    record_property: Callable[[str, object], None],
) -> None:
    team: Crew = crew("Platform", employ_at(whole))
    server = team.add_server(fastmcp_peer.url)
    inbox = team.approver.sign_in()
    inbox.goto("/inbox/")
    expect(inbox.get_by_text("Nothing waits for you.")).to_be_visible()
    expect(inbox.locator("[data-live-word]")).to_have_text("live")
    inbox.evaluate(NOTE_ARRIVAL)

    operation = team.operator.sign_in()
    operation.goto("/operations/")
    _start(operation, server, "publish", "release 43")

    expect(rows(inbox)).to_have_count(2, timeout=SOON_MS)
    asked_at = Approval.objects.filter(team=team.team).order_by("created_at")[0].created_at
    took = _seconds_to_arrive(inbox, asked_at)
    record_property("seconds_from_commit_to_row", took)
    assert 0 <= took < LIVE_WITHIN_S
    expect(inbox.locator("#inbox-badge")).to_contain_text("2")

    open_row(inbox, rows(inbox).filter(has_text="Where does api go?"))
    expect(inbox.locator("#item-title")).to_have_text("publish")
    inbox.get_by_text("north", exact=True).click()
    inbox.locator("#item-form").get_by_role("button", name="Send").click()
    expect(inbox.locator(".desk-message").first).to_contain_text("saved and on its way")
    # the next item opens by itself
    expect(inbox.locator(".theirs").first).to_contain_text("Publish now?")
    say_yes(inbox, "Now")
    inbox.locator("#item-form").get_by_role("button", name="Send").click()
    expect(inbox.get_by_text("Nothing waits for you.")).to_be_visible()

    expect(state(operation)).to_contain_text("Completed", timeout=SOON_MS)
    expect(operation.locator("#operation-facts")).to_contain_text("api is in north, now: True")

    seen = team.auditor.sign_in()
    seen.goto(operation.url)
    expect(seen.locator("#operation-facts")).to_contain_text("api is in north, now: True")
    expect(seen.locator("#operation-timeline")).to_contain_text(team.approver.name)
