"""The service worker in a real browser: it registers under the page's policy, shows, replaces."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from mcpdesk.accounts.models import Membership, Role, Team
from tests.factories import MembershipFactory
from tests.web.browsing import signed_in
from tests.web.conftest import chromium, desk_url, live_layer

__all__ = ["chromium", "desk_url", "live_layer"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

REGISTER = """async (script) => {
  await navigator.serviceWorker.register(script, { scope: "/" });
  await navigator.serviceWorker.ready;
}"""
SHOWN = """async () => {
  const registration = await navigator.serviceWorker.ready;
  const shown = await registration.getNotifications();
  return shown.map((one) => [one.title, one.body, one.tag, one.data.url]);
}"""


@pytest.fixture
def page(desk_url: str, chromium: Browser, team: Team) -> Iterator[Page]:
    """The notifications page of a member who lets the desk notify them."""
    member: Membership = MembershipFactory(team=team, role=Role.APPROVER)
    session = signed_in(member).cookies["sessionid"].value
    context = chromium.new_context(base_url=desk_url, permissions=["notifications"])
    context.add_cookies([{"name": "sessionid", "value": session, "url": desk_url}])
    opened = context.new_page()
    opened.goto("/profile/notifications/")
    yield opened
    context.close()


def push(page: Page, origin: str, **message: Any) -> None:
    """As the push service of the browser would deliver it."""
    devtools = page.context.new_cdp_session(page)
    registrations: list[str] = []
    devtools.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: registrations.extend(r["registrationId"] for r in event["registrations"]),
    )
    devtools.send("ServiceWorker.enable")
    while not registrations:
        page.wait_for_timeout(20)
    given = {"origin": origin, "registrationId": registrations[0], "data": json.dumps(message)}
    devtools.send("ServiceWorker.deliverPushMessage", given)


def shown(page: Page, count: int, title: str) -> list[list[str]]:
    """What the browser shows, once there is that much, with this title among it."""
    for _ in range(500):
        found: list[list[str]] = page.evaluate(SHOWN)
        if len(found) == count and title in [one[0] for one in found]:
            return found
        page.wait_for_timeout(20)
    raise AssertionError(f"shown: {found}")


def test_a_notification_is_shown_and_its_ending_takes_its_place(page: Page, desk_url: str) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.evaluate(REGISTER, "/push-worker.js")
    link = f"{desk_url}/inbox/1/"
    push(page, desk_url, title="Approve this call?", body="It waits.", url=link, tag="t1")
    assert shown(page, 1, "Approve this call?") == [["Approve this call?", "It waits.", "t1", link]]
    push(page, desk_url, title="Anna approved it.", body="Over.", url=link, tag="t1", over=True)
    assert shown(page, 1, "Anna approved it.") == [["Anna approved it.", "Over.", "t1", link]]
    assert not [text for text in said if "Content Security Policy" in text]


def test_the_page_says_when_a_browser_does_not_let_it(page: Page, desk_url: str) -> None:
    page.context.clear_permissions()
    page.reload()
    page.get_by_role("button", name="Tell me in this browser").click()
    note = page.locator("[data-push-note]")
    note.filter(has_text="This browser").wait_for()
