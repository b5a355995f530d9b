"""The same path without JavaScript: everything is read, started and answered with plain forms."""

import pytest
from playwright.sync_api import Page, expect

from tasks_monitor.models import Operation
from tasks_monitor.states import State
from tests.browser.people import Crew, accept, open_items, path, state, until

pytestmark = pytest.mark.browser


def test_a_tool_is_started_answered_and_read(team: Crew, server: int) -> None:
    operator = team.operator.sign_in("/operations/new/", java_script_enabled=False)
    operator.get_by_role("link", name="workshop").click()
    operator.get_by_label("Search").fill("refund")
    operator.get_by_role("button", name="Search").click()
    operator.get_by_role("link", name="issue_refund").click()
    operator.get_by_label("order").fill("A-1041")
    operator.get_by_label("Reason").fill("The customer wrote twice")
    operator.get_by_label("Questions of the server go to").select_option("approvers")
    operator.get_by_role("button", name="Start", exact=True).click()
    operation = operator.url.rstrip("/").rsplit("/", 1)[1]
    (item,) = open_items(operation)

    approver = team.approver.open("/inbox/", java_script_enabled=False)
    approver.locator(f"#row-{item.pk}").click()
    expect(approver).to_have_url(f"{team.approver.url}{path(item)}")
    accept(approver)
    # nothing was filled in: the page says so beside the fields
    expect(approver.get_by_role("alert")).to_contain_text("Nothing was sent")
    _fill_refund(approver)
    accept(approver)
    expect(approver.get_by_text("saved and on its way")).to_be_visible()

    until(lambda: Operation.objects.get(pk=operation).state == State.COMPLETED)
    operator.reload()
    expect(state(operator)).to_contain_text("Completed")
    expect(operator.locator("#operation-facts")).to_contain_text(
        "Refunded 12.5 EUR for order A-1041"
    )


def _fill_refund(page: Page) -> None:
    page.get_by_label("Amount in EUR").fill("12.50")
    page.get_by_text("Goodwill", exact=True).click()
    page.get_by_label("Message to the customer").fill("We are sorry.")


def test_what_is_put_aside_or_kept_as_draft_needs_no_javascript(team: Crew, server: int) -> None:
    operation = team.start(server, "task_asks_form", '{"question": "optional"}')
    (item,) = open_items(operation)
    page = team.approver.open(path(item), java_script_enabled=False)
    page.locator("#item-form").get_by_label("note").fill("half a thought")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.locator("#item-form").get_by_label("note")).to_have_value("half a thought")
    page.get_by_role("button", name="Not now").click()
    expect(page.get_by_text("Put aside for you")).to_be_visible()
    page.goto(path(item))
    expect(page.locator(".item-banner")).to_contain_text("You put this aside")
    assert open_items(operation) == [item]
