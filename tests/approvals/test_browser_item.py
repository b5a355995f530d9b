"""One item in real browsers: folds, claims and comments between two people, live."""

import pytest
from playwright.sync_api import expect

from approvals.models import Approval, ApprovalState
from mcpdesk.accounts.access import Member
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate
from tests.approvals.test_browser import NAME, Open, chromium, desk_url, open_page  # noqa: F401
from tests.web.conftest import _no_connections_left, live_layer  # noqa: F401

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def _path(approval: Approval) -> str:
    return f"/inbox/{approval.pk}/"


def test_opening_every_fold_is_what_lets_one_approve(
    operator: Member,
    approver: Member,
    open_page: Open,  # noqa: F811
) -> None:
    approval = a_gate(operator, arguments={"a": "x" * 500, "b": "y" * 500})
    page = open_page(approver, _path(approval))
    approve = page.locator("button[value=approve]")
    expect(approve).to_be_disabled()
    page.locator("#argument-1 > summary").click()
    expect(page.locator("[name=opened][value=argument-1]")).to_be_checked()
    expect(approve).to_be_disabled()
    page.locator("#argument-2 > summary").click()
    expect(approve).to_be_enabled()
    approve.click()
    expect(page.get_by_text("You approved")).to_be_visible()
    approval.refresh_from_db()
    assert approval.state == ApprovalState.DECIDED


def test_a_claim_reaches_the_other_browser_and_eats_no_word(
    ask: Ask,
    approver: Member,
    join: Join,
    open_page: Open,  # noqa: F811
) -> None:
    approval, other = ask(fields=NAME), join()
    mine, theirs = (open_page(member, _path(approval)) for member in (approver, other))
    theirs.fill("[name=field-0]", "my own words")
    mine.keyboard.press("c")
    expect(mine.locator("#item-work")).to_contain_text("Give it back")
    expect(mine.locator("#item-live")).to_contain_text("You have claimed this")
    expect(theirs.locator("#form-stop")).to_contain_text(f"{approver.user.name} has claimed this")
    expect(theirs.locator("[name=field-0]")).to_have_value("my own words")
    expect(theirs.locator("#item-work")).to_contain_text("Take it over…")
    theirs.locator("#take-over > summary").click()
    theirs.fill("#take-over-note", "It cannot wait")
    theirs.get_by_role("button", name="Take it over").click()
    expect(theirs.locator("#item-live")).to_contain_text("You have claimed this")
    expect(theirs.locator("[name=field-0]")).to_have_value("my own words")
    expect(mine.locator("#item-live")).to_contain_text(f"{other.user.name} has claimed this")
    expect(mine.locator("#item-comments")).to_contain_text("It cannot wait")


def test_a_comment_comes_to_the_other_browser_and_leaves_alone_what_is_typed_there(
    ask: Ask,
    approver: Member,
    operator: Member,
    open_page: Open,  # noqa: F811
) -> None:
    approval = ask(fields=NAME)
    mine, theirs = (open_page(member, _path(approval)) for member in (approver, operator))
    theirs.fill("#comment", "half a sen")
    mine.fill("#comment", "Why now?")
    mine.get_by_role("button", name="Comment").click()
    expect(theirs.locator("#item-comments")).to_contain_text("Why now?")
    expect(theirs.locator("#comment")).to_have_value("half a sen")
    expect(mine.locator("#comment")).to_have_value("")


def test_a_claim_that_is_given_back_brings_the_form_to_the_other_browser(
    ask: Ask,
    approver: Member,
    join: Join,
    open_page: Open,  # noqa: F811
) -> None:
    approval = ask(fields=NAME)
    mine = open_page(approver, _path(approval))
    mine.keyboard.press("c")
    expect(mine.locator("#item-work")).to_contain_text("Give it back")
    theirs = open_page(join(), _path(approval))
    expect(theirs.locator("#item-form")).to_have_count(0)
    mine.keyboard.press("c")
    expect(theirs.locator("#item-form")).to_be_visible()
