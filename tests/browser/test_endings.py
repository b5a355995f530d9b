"""Every way an item can end, watched from two browsers, and told in words that fit.

Nobody reloads. A colleague who could have decided and the person who started it read the same
ending, in the banner and in the timeline; what nobody refused is never called a refusal.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from approvals.models import Approval
from mcpdesk.accounts.models import Role
from tests.browser.people import SOON_MS, Crew, open_items, path, say_yes

pytestmark = pytest.mark.browser

#: What only a person's refusal may be called.
REFUSAL = re.compile(r"(?<!nobody )\b(denied|declined|refused|rejected) (by|it|this)\b", re.I)

Ask = Callable[[Crew, int], Approval]
End = Callable[[Crew, Approval], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """How an item comes to be, what ends it, what the banner says then, and the timeline.

    `also` is said in the part of the page with this id, beside the banner.
    """

    ask: Ask
    end: End
    says: str
    log: tuple[str, ...]
    also: tuple[str, str] = ("#item-live", "")
    is_refusal: bool = False


def _gate(**ask: str) -> Ask:
    def make(team: Crew, server: int) -> Approval:
        team.ask_first("search_*", deadline="60", **ask)
        return open_items(team.start(server, "search_orders", '{"query": "Lindgren"}'))[0]

    return make


def _question(tool: str, **arguments: int | str) -> Ask:
    def make(team: Crew, server: int) -> Approval:
        given = json.dumps({"poll_ms": 500, **arguments})
        return open_items(team.start(server, tool, given))[0]

    return make


def _say(choice: str, fill: Callable[[Page], None] = lambda page: None) -> End:
    """The approver presses this button, in a third browser."""

    def say(team: Crew, item: Approval) -> None:
        page = team.approver.open(path(item), java_script_enabled=False)
        fill(page)
        page.locator(f"#item button[name=choice][value={choice}]").click()
        expect(page.locator(".desk-message").first).to_be_visible()

    return say


def _cancel_operation(team: Crew, item: Approval) -> None:
    assert team.operator.post(f"/operations/{item.operation_id}/cancel/").status == 302


def _time_passes(team: Crew, item: Approval) -> None:
    now = timezone.now()
    Approval.objects.filter(pk=item.pk).update(deadline_at=now, look_at=now)


def _server_moves(team: Crew, item: Approval) -> None:
    """The server ends it by itself, after a while."""


def _yes(page: Page) -> None:
    say_yes(page, "Go on")


def _reason(page: Page) -> None:
    page.locator("#item [name=reason]").first.fill("not on a Friday")


ENDINGS = {
    "approved": Ending(
        _gate(),
        _say("approve"),
        says="Approved, last by Amelia Nowak",
        log=("Amelia Nowak approved it, and so it was decided",),
    ),
    "denied": Ending(
        _gate(),
        _say("deny", _reason),
        says="Denied by Amelia Nowak",
        log=("Amelia Nowak denied it, and so it was decided",),
        is_refusal=True,
    ),
    "accepted": Ending(
        _question("task_asks"),
        _say("accept", _yes),
        says="Answered by Amelia Nowak",
        log=("Amelia Nowak accepted it, and so it was decided", "The server took the answer"),
        also=("#item-delivery", "Applied"),
    ),
    "declined": Ending(
        _question("task_asks"),
        _say("decline"),
        says="Answered by Amelia Nowak",
        log=("Amelia Nowak declined it, and so it was decided",),
        is_refusal=True,
    ),
    "cancelled request": Ending(
        _question("task_asks"),
        _say("cancel"),
        says="Answered by Amelia Nowak",
        log=("Amelia Nowak cancelled it, and so it was decided",),
    ),
    "cancelled call": Ending(
        _gate(),
        _cancel_operation,
        says="its operation is cancelled. Nothing was sent, and nobody decided it.",
        log=("Oskar Lind asked to cancel", "The item closed: Closed with its operation"),
    ),
    "expired": Ending(
        _gate(),
        _time_passes,
        says="Nothing was sent, and nobody refused it",
        log=("Nobody decided at the gate in time", "The item closed: Expired"),
    ),
    "denied by its deadline": Ending(
        _gate(at_deadline="deny"),
        _time_passes,
        says="nobody refused it: the rule denies what nobody approves in time",
        log=("Nobody approved it in time", "The item closed: Expired"),
    ),
    "expired question": Ending(
        _question("task_asks"),
        _time_passes,
        says="Nobody answered it, and nobody refused it.",
        log=("The item closed: Expired",),
    ),
    "withdrawn": Ending(
        _question("task_withdraws", duration_ms=1000, after_ms=4000),
        _server_moves,
        says="The server withdrew this",
        log=("The item closed: Withdrawn by the server",),
    ),
    "superseded": Ending(
        _question("task_changes_question", after_ms=4000),
        _server_moves,
        says="The server replaced this question",
        log=("The item closed: Replaced by a changed question",),
        also=("#item-live", "Open the new one"),
    ),
    "failed delivery": Ending(
        _question("task_drops_answer", drops=9),
        _say("accept", _yes),
        says="Answered by Amelia Nowak",
        log=("The server keeps asking: it may have dropped the answer",),
        also=("#item-delivery", "The server keeps asking: it may have dropped the answer."),
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_two_people_who_watch_see_how_it_ended_and_read_it_in_the_log(
    team: Crew, server: int, name: str
) -> None:
    ending = ENDINGS[name]
    item = ending.ask(team, server)
    watching = [person.open(path(item)) for person in (team.hire(Role.APPROVER), team.operator)]
    for page in watching:
        page.evaluate("window.loadedOnce = true")
    ending.end(team, item)
    for page in watching:
        _reads(page, ending)


def _reads(page: Page, ending: Ending) -> None:
    """The page says so by itself, in every part of it that follows."""
    expect(page.locator("#item-live")).to_contain_text(ending.says, timeout=SOON_MS)
    where, words = ending.also
    expect(page.locator(where)).to_contain_text(words, timeout=SOON_MS)
    timeline = page.locator("#item-timeline")
    for sentence in ending.log:
        expect(timeline).to_contain_text(sentence, timeout=SOON_MS)
    expect(page.locator("#item-form")).to_have_count(0)
    told = page.locator("#item-live").inner_text() + timeline.inner_text()
    assert bool(REFUSAL.search(told)) == ending.is_refusal, told
    assert page.evaluate("window.loadedOnce"), "the page was loaded again"
