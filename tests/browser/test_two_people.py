"""Two people and one question, and forms that no longer hold: nothing is ever sent twice."""

import re

import pytest
from playwright.sync_api import APIResponse, expect

from approvals.models import Approval, ApprovalState
from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import Delivery
from tests.browser.people import Crew, Person, accept, open_items, path, state, until
from tests.simulator.process import SimulatorProcess

pytestmark = pytest.mark.browser

TEXT = '{"question": "optional", "nonce": "%s"}'


def _asked(team: Crew, server: int, nonce: str) -> Approval:
    """An item with one field for text."""
    return open_items(team.start(server, "task_asks_form", TEXT % nonce))[0]


def _token(person: Person, item: Approval) -> str:
    """What the desk put into the form that it showed to this person."""
    found = re.search(r'name="binding" value="([^"]+)"', person.get(path(item)).text())
    assert found, "there is no form for this person"
    return found[1]


def _send(person: Person, item: Approval, token: str, text: str = "x") -> APIResponse:
    form = {"binding": token, "choice": "accept", "field-0": text}
    return person.post(f"{path(item)}decide/", **form)


def _done_once(simulator: SimulatorProcess, nonce: str, item: Approval) -> None:
    until(lambda: simulator.done(nonce))
    assert simulator.done(nonce) == 1
    delivery = Delivery.objects.get(input_request__approval=item)
    assert delivery.times_sent == 1


def test_one_wins_and_the_other_is_told_who_and_keeps_every_word(
    team: Crew, server: int, simulator_process: SimulatorProcess
) -> None:
    item, second = _asked(team, server, "race"), team.hire(Role.APPROVER)
    winning, losing = (person.open(path(item)) for person in (team.approver, second))
    losing.locator("#item-form").get_by_label("note").fill("the words of the other")
    winning.locator("#item-form").get_by_label("note").fill("the words of the first")
    accept(winning)
    expect(winning.locator(".desk-message").first).to_contain_text("You accepted")
    expect(losing.locator("#form-stop")).to_contain_text(f"Answered by {team.approver.name}")
    expect(losing.locator("#item-form").get_by_label("note")).to_have_value(
        "the words of the other"
    )
    expect(losing.locator("#draft-note")).to_contain_text("Draft kept")
    losing.reload()
    expect(losing.locator("#typed-title + dl")).to_contain_text("the words of the other")
    _done_once(simulator_process, "race", item)


def test_who_loses_without_javascript_is_told_who_and_keeps_every_word(
    team: Crew, server: int, simulator_process: SimulatorProcess
) -> None:
    item, second = _asked(team, server, "race-plain"), team.hire(Role.APPROVER)
    pages = [
        person.open(path(item), java_script_enabled=False) for person in (team.approver, second)
    ]
    for page, words in zip(pages, ("first", "too late"), strict=True):
        page.locator("#item-form").get_by_label("note").fill(words)
    for page in pages:
        accept(page)
    expect(pages[0].get_by_text("You accepted")).to_be_visible()
    expect(pages[1].get_by_role("alert")).to_contain_text(
        f"{team.approver.name} was first and accepted this"
    )
    expect(pages[1].locator("#typed-title + dl")).to_contain_text("too late")
    _done_once(simulator_process, "race-plain", item)


def test_a_form_made_for_somebody_else_is_refused(
    team: Crew, server: int, simulator_process: SimulatorProcess
) -> None:
    item, second = _asked(team, server, "foreign-form"), team.hire(Role.APPROVER)
    stolen = _send(second, item, _token(team.approver, item))
    assert stolen.status == 422
    assert "made for somebody else" in stolen.text()
    assert open_items(str(item.operation_id)) == [item]


def test_a_form_of_another_question_is_refused(team: Crew, server: int) -> None:
    item, other = _asked(team, server, "one"), _asked(team, server, "other")
    sent = _send(team.approver, item, _token(team.approver, other))
    assert (sent.status, "belongs to another question" in sent.text()) == (422, True)


def test_a_form_without_the_desks_token_is_refused(team: Crew, server: int) -> None:
    item = _asked(team, server, "no-token")
    sent = _send(team.approver, item, "made-up")
    assert (sent.status, "not made by the desk" in sent.text()) == (422, True)


def test_a_replayed_answer_is_told_so_and_not_sent_again(
    team: Crew, server: int, simulator_process: SimulatorProcess
) -> None:
    item = _asked(team, server, "replay")
    token = _token(team.approver, item)
    assert _send(team.approver, item, token).status == 302
    again = _send(team.approver, item, token, "something else")
    assert again.status == 409
    assert "You already accepted this. Nothing was sent a second time." in again.text()
    _done_once(simulator_process, "replay", item)


def test_an_answer_to_a_question_that_changed_is_not_carried_over(
    team: Crew, server: int, simulator_process: SimulatorProcess
) -> None:
    changing = '{"after_ms": 3000, "poll_ms": 500, "nonce": "changed"}'
    operation = team.start(server, "task_changes_question", changing)
    (first,) = open_items(operation)
    token = _token(team.approver, first)
    until(lambda: Approval.objects.get(pk=first.pk).state == ApprovalState.SUPERSEDED)
    sent = _send(team.approver, first, token, "on")
    assert (sent.status, "replaced this question" in sent.text()) == (409, True)

    (second,) = open_items(operation)
    page = team.approver.open(path(second))
    expect(page.locator("#item")).to_contain_text("The server changed this question")
    expect(page.locator("#item .theirs").first).to_contain_text("Delete all of it?")
    assert not Delivery.objects.filter(input_request__operation_id=operation).exists()
    assert simulator_process.done("changed") == 0


def test_a_role_that_was_taken_away_decides_no_more(team: Crew, server: int) -> None:
    item = _asked(team, server, "revoked")
    page = team.approver.open(path(item))
    page.locator("#item-form").get_by_label("note").fill("I still can")
    role = Membership.objects.get(team=team.team, user=team.approver.user)
    assert team.admin.post(f"/team/{role.pk}/role/", role="viewer").status == 302
    accept(page)
    expect(page.locator("#item")).to_contain_text("Nothing was sent.")
    assert open_items(str(item.operation_id)) == [item]


def test_the_operators_page_follows_what_an_approver_does(team: Crew, server: int) -> None:
    item = _asked(team, server, "followed")
    watching = team.operator.open(f"/operations/{item.operation_id}/")
    expect(state(watching)).to_contain_text("Waiting for")
    assert _send(team.approver, item, _token(team.approver, item)).status == 302
    expect(state(watching)).to_contain_text("Completed")
    expect(watching.locator("#operation-state")).to_contain_text(team.approver.name)
