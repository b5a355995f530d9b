"""Pages that stay open while things change: questions withdrawn, processes killed, people gone."""

import pytest
from playwright.sync_api import Page, expect

from approvals.models import Approval
from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import Operation
from tests.browser.people import (
    LIVE,
    SOON_MS,
    Crew,
    accept,
    open_items,
    open_row,
    path,
    rows,
    say_yes,
    state,
    until,
)
from tests.browser.whole_desk import WholeDesk
from tests.simulator.process import SimulatorProcess

pytestmark = pytest.mark.browser

# live.js tries again after up to 15 s, with a share of chance in it
BACK_MS = 30_000


def _is_live_again(page: Page) -> None:
    expect(page.locator(LIVE)).to_have_text("live", timeout=BACK_MS)


def test_a_withdrawn_question_closes_in_every_open_page(team: Crew, server: int) -> None:
    pace = '{"duration_ms": 3000, "after_ms": 6000, "poll_ms": 500}'
    operation = team.start(server, "task_withdraws", pace)
    (item,) = open_items(operation)
    page = team.approver.open(path(item))
    expect(page.locator("#item-form")).to_be_visible()
    withdrawn = "The server withdrew this"
    expect(page.locator(".item-banner")).to_contain_text(withdrawn, timeout=SOON_MS)
    expect(page.locator("#item-form")).to_have_count(0)
    expect(page.locator("#inbox-badge")).to_have_text("")


def test_a_deactivated_persons_pages_stop_at_once(team: Crew, server: int) -> None:
    leaving = team.hire(Role.APPROVER)
    page = leaving.open("/inbox/")
    membership = Membership.objects.get(user=leaving.user)
    assert team.admin.post(f"/team/{membership.pk}/deactivate/").status == 302
    expect(page.locator(LIVE)).to_have_text("signed out")
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_page_that_asks_after_its_session_ended_stays_where_it_is(team: Crew) -> None:
    leaving = team.hire(Role.APPROVER)
    page = leaving.open("/inbox/")
    expect(page.locator(LIVE)).to_have_text("live")
    page.wait_for_load_state("networkidle")  # what a page asks once it is live was answered
    page.context.clear_cookies()
    page.evaluate("htmx.trigger(document.querySelector('[data-live]'), 'live')")
    expect(page.locator(LIVE)).to_have_text("signed out")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_somebody_removed_from_the_team_hears_nothing_more(team: Crew, server: int) -> None:
    leaving = team.hire(Role.APPROVER)
    page = leaving.open("/inbox/")
    membership = Membership.objects.get(user=leaving.user)
    assert team.admin.post(f"/team/{membership.pk}/remove/").status == 302
    expect(page.locator(LIVE)).to_have_text("no longer in this team")
    operation = team.start(server, "task_asks")
    open_items(operation)
    expect(rows(page)).to_have_count(0)


def test_a_page_says_when_it_is_not_live_and_catches_up_by_itself(
    team: Crew, server: int, desk: WholeDesk
) -> None:
    inbox = team.approver.open("/inbox/")
    operation = team.start(server, "task_asks", '{"duration_ms": 3000}')
    until(lambda: Operation.objects.get(pk=operation).task_hash)
    desk.kill("web")
    expect(inbox.locator(LIVE)).not_to_have_text("live")
    open_items(operation)  # it is asked while the page hears nothing
    expect(rows(inbox)).to_have_count(0)
    desk.start("web")
    _is_live_again(inbox)
    expect(rows(inbox)).to_have_count(1)


def test_nothing_is_lost_when_every_process_is_killed_with_a_question_open(
    team: Crew, server: int, desk: WholeDesk, simulator_process: SimulatorProcess
) -> None:
    operation = team.start(server, "task_asks", '{"poll_ms": 500, "nonce": "killed"}')
    (item,) = open_items(operation)
    inbox = team.approver.open("/inbox/")
    expect(rows(inbox)).to_have_count(1)
    desk.kill()
    polls = Operation.objects.get(pk=operation).polls
    desk.start()
    # what a killed worker held is taken over when its lease ends
    until(lambda: Operation.objects.get(pk=operation).polls >= polls + 2)
    _is_live_again(inbox)
    expect(rows(inbox)).to_have_count(1)
    assert list(Approval.objects.filter(operation_id=operation)) == [item]

    open_row(inbox, rows(inbox))
    say_yes(inbox, "Go on")
    accept(inbox)
    page = team.operator.open(f"/operations/{operation}/")
    expect(state(page)).to_contain_text("Completed")
    assert simulator_process.done("killed") == 1
