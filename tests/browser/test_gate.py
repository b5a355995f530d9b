"""The gate in browsers: a call is asked for, decided by two people, and only then sent."""

import json

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Approval
from mcpdesk.accounts.models import Role
from tasks_monitor.models import Attempt, Operation
from tasks_monitor.states import State
from tests.browser.people import Crew, open_items, path, state, until

pytestmark = pytest.mark.browser


def _approve(page: Page) -> None:
    page.locator("#item button[name=choice][value=approve]").click()


def _asked(team: Crew, server: int, **arguments: str) -> Approval:
    operation = team.start(server, "search_orders", json.dumps({"query": "Lindgren", **arguments}))
    return open_items(operation)[0]


def test_two_people_approve_and_every_page_follows_by_itself(team: Crew, server: int) -> None:
    team.ask_first("search_*", quorum="2")
    item, second = _asked(team, server), team.hire(Role.APPROVER)
    operation = team.operator.open(f"/operations/{item.operation_id}/")
    expect(state(operation)).to_contain_text("Waiting for approval by the team's approvers")
    mine, theirs, starter = (
        person.open(path(item)) for person in (team.approver, second, team.operator)
    )
    expect(starter.locator("#item-live")).to_contain_text("You started this")
    expect(starter.locator("#item-form")).to_have_count(0)
    _approve(mine)
    expect(mine.locator(".desk-message").first).to_contain_text("waiting for 1 more of 2")
    expect(theirs.locator("#item-live")).to_contain_text("1 of 2 have approved")
    assert not Attempt.objects.filter(operation=item.operation_id).exists()
    _approve(theirs)
    expect(theirs.locator(".desk-message").first).to_contain_text("It is sent as soon as")
    expect(starter.locator("#item-live")).to_contain_text(f"last by {second.name}")
    until(lambda: Operation.objects.get(pk=item.operation_id).state == State.COMPLETED)
    expect(state(operation)).to_contain_text("Completed")


def test_a_refusal_ends_it_and_nothing_was_ever_sent(team: Crew, server: int) -> None:
    team.ask_first("search_*")
    item = _asked(team, server)
    starter = team.operator.open(path(item))
    page = team.approver.open(path(item), java_script_enabled=False)
    page.get_by_label("Reason").fill("not on a Friday")
    page.locator("#item").get_by_role("button", name="Deny").click()
    expect(page.get_by_text("Nothing was sent.").first).to_be_visible()
    expect(starter.locator("#item-live")).to_contain_text(f"Denied by {team.approver.name}")
    expect(starter.locator("#item-votes")).to_contain_text("not on a Friday")
    operation = Operation.objects.get(pk=item.operation_id)
    assert (operation.state, operation.attempts.count()) == (State.DENIED, 0)


def test_what_is_folded_is_opened_before_it_is_approved(team: Crew, server: int) -> None:
    team.ask_first("search_*")
    item = _asked(team, server, note="x" * 500)
    page = team.approver.open(path(item))
    button = page.locator("#item button[value=approve]")
    expect(button).to_be_disabled()
    page.locator("details[data-must-open] summary").click()
    expect(button).to_be_enabled()
    _approve(page)
    expect(page.locator(".desk-message").first).to_contain_text("You approved")


def test_what_was_opened_in_one_item_is_not_opened_in_the_next(team: Crew, server: int) -> None:
    team.ask_first("search_*")
    first, second = (_asked(team, server, note=letter * 500) for letter in "xy")
    page = team.approver.open(path(first))
    page.locator("details[data-must-open] summary").click()
    page.locator(f"#row-{second.pk}").click()
    expect(page.locator(f'#item[data-item="{second.pk}"]')).to_be_visible()
    expect(page.locator("#item-title")).to_be_focused()
    expect(page.locator("#item button[value=approve]")).to_be_disabled()
    expect(page.locator("details[data-must-open]")).not_to_have_attribute("open", "")


def test_an_admin_writes_a_rule_tries_it_and_it_counts_for_the_next_call(
    team: Crew, server: int
) -> None:
    page = team.admin.open("/policies/")
    page.get_by_role("link", name="Add a rule").click()
    page.get_by_label("Name").fill("No searching")
    page.get_by_label("Tool").fill("search_*")
    page.get_by_label("What happens").select_option("disabled")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Not saved yet.")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Up No searching").click()
    expect(page.locator(".rule").first).to_contain_text("No searching")
    page.get_by_label("Tool").fill("search_orders")
    page.get_by_role("button", name="What would happen?").click()
    expect(page.get_by_role("status").filter(has_text="This call would")).to_contain_text(
        "be refused, because rule 1 (No searching) says so"
    )
    started = team.operator.post(
        f"/operations/new/?server={server}&tool=search_orders",
        arguments="{}",
        key="9a1f7f2e-5f0b-4b0e-9a43-3d6f2d0f0d11",
        questions_to="approvers",
    )
    assert (started.status, "is disabled" in started.text()) == (422, True)
