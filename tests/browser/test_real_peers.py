"""Servers that other people wrote, through the whole product: one starts, another answers."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.people import Crew, accept, open_items, open_row, path, rows, say_yes, state
from tests.peers.processes import Peer

pytestmark = [pytest.mark.browser, pytest.mark.peers]


def _finished(team: Crew, operation: str, result: str) -> None:
    """A third person, who had no part in it, sees how it ended."""
    page = team.auditor.open(f"/operations/{operation}/")
    expect(state(page)).to_contain_text("Completed")
    expect(page.locator("#operation-facts")).to_contain_text(result)


def _answer(page: Page, message: str, fill: Callable[[Page], None]) -> None:
    """Open the item with these words from the list, fill its form and send it."""
    row = rows(page).filter(has_text=message)
    expect(row).to_have_count(1)
    open_row(page, row)
    expect(page.locator("#item .theirs").first).to_contain_text(message)
    fill(page)
    accept(page)
    expect(page.locator(".desk-message").first).to_contain_text("The answer is saved")


def test_a_task_that_must_not_be_inlined(team: Crew, fastmcp_peer: Peer) -> None:
    server = team.add_server(fastmcp_peer.url)
    operation = team.start(server, "reindex", '{"index": "orders", "nonce": "w-reindex"}')
    page = team.operator.open(f"/operations/{operation}/")
    expect(state(page)).to_contain_text("Completed")
    expect(page.locator("h1 + .text-secondary")).to_contain_text(team.operator.name)
    _finished(team, operation, "orders is indexed")
    assert fastmcp_peer.done("w-reindex") == 1


def test_a_question_before_the_task(team: Crew, fastmcp_peer: Peer) -> None:
    server = team.add_server(fastmcp_peer.url)
    operation = team.start(server, "refund", '{"order": "A-1", "nonce": "w-refund"}')
    watching = team.operator.open(f"/operations/{operation}/")
    expect(state(watching)).to_contain_text("Waiting for")
    inbox = team.approver.open("/inbox/")
    _answer(inbox, "How much of A-1", lambda page: page.get_by_label("amount").fill("12.50"))
    expect(state(watching)).to_contain_text("Completed")
    _finished(team, operation, "A-1 is refunded")
    assert fastmcp_peer.done("w-refund") == 1


def test_rounds_that_depend_on_each_other(team: Crew, sdk_peer: Peer) -> None:
    server = team.add_server(sdk_peer.url)
    operation = team.start(server, "book_trip", '{"nonce": "w-trip"}')
    inbox = team.approver.open("/inbox/")
    _answer(inbox, "Where to?", lambda page: page.get_by_label("City").fill("Oslo"))
    # each round arrives in the open page by itself
    _answer(inbox, "How many nights in Oslo?", lambda page: page.get_by_label("Nights").fill("3"))
    _answer(inbox, "3 nights in Oslo: book?", lambda page: say_yes(page, "Book it"))
    page = team.operator.open(f"/operations/{operation}/")
    expect(state(page)).to_contain_text("Completed")
    _finished(team, operation, "3 nights in Oslo")
    assert sdk_peer.done("w-trip") == 1


def _name_it(page: Page) -> None:
    page.locator("#item-form").get_by_role("textbox").fill("work")


def test_a_form_and_a_link_in_one_round(team: Crew, sdk_peer: Peer) -> None:
    server = team.add_server(sdk_peer.url)
    operation = team.start(server, "link_account", '{"account": "ada", "nonce": "w-link"}')
    open_items(operation, 2)
    inbox = team.approver.open("/inbox/")
    _answer(inbox, "Name this link", _name_it)
    expect(inbox.locator(".link-host")).to_have_text("accounts.example")
    assert sdk_peer.done("w-link") == 0
    accept(inbox)
    link = inbox.get_by_role("link", name="Open accounts.example in a new tab")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(inbox.locator("#item-delivery")).to_contain_text("Applied")
    _finished(team, operation, "ada is linked as {'label': 'work'}")
    assert sdk_peer.done("w-link") == 1


def test_a_refusal_is_told_to_the_server_and_nothing_is_done(team: Crew, sdk_peer: Peer) -> None:
    server = team.add_server(sdk_peer.url)
    operation = team.start(server, "link_account", '{"account": "ada", "nonce": "w-no"}')
    for item in open_items(operation, 2):
        page = team.approver.open(path(item))
        page.locator("#item-form").get_by_role("button", name="Decline").click()
        expect(page.locator(".desk-message").first).to_contain_text("You declined")
    _finished(team, operation, "not linked")
    assert sdk_peer.done("w-no") == 0
