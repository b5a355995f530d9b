"""From the link in a message to the decision, by every way there is but the usual one.

With the keyboard alone, on a phone in the dark, at 200 % zoom, with words that read from right to
left, and without JavaScript; at each stop axe finds nothing, and nothing stands out of the page.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from approvals.models import Approval, ApprovalState, Vote
from tasks_monitor.models import Delivery
from tests.browser.people import PASSWORD, SOON_MS, Crew, open_items, path, until
from tests.browser.watching import Watched

pytestmark = pytest.mark.browser

#: How a page is looked at. At 200 % a window of 1280 × 800 has room for half of that.
LOOKS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1440, "height": 900}},
    "phone, dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
    "200 %": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
}
HEBREW = "האם לאשר את ההחזר?"
ARABIC = "سبب الطلب رقم 42"
RUN_AXE = "axe.run({ resultTypes: ['violations'] }).then((found) => found.violations)"
MOST_TABS = 80
#: The element that has the focus: what it is called, what it is, and whether one can see that.
FOCUSED = """(() => {
  const one = document.activeElement;
  if (!one || one === document.body) return { name: "", kind: "", seen: true };
  const named = one.getAttribute("aria-labelledby")?.split(" ")
    .map((id) => document.getElementById(id)?.textContent).join(" ");
  const group = one.type === "radio" ? one.closest("[role=group], fieldset") : null;
  const words = [one.getAttribute("aria-label"), named, one.labels?.[0]?.textContent,
    one.textContent, one.title].find((words) => words?.trim()) ?? "";
  const box = (one.labels?.[0]?.contains(one) ? one.labels[0] : one).getBoundingClientRect();
  const looks = [one, one.nextElementSibling].filter(Boolean).map((e) => getComputedStyle(e));
  const marked = looks.some((l) => l.outlineStyle !== "none" || l.boxShadow !== "none");
  const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return { name: words.replace(/\\s+/g, " ").trim(), kind: one.tagName, seen: marked && inside };
})()"""


@dataclass(slots=True)
class Hands:
    """Somebody without a mouse."""

    watched: Watched

    @property
    def page(self) -> Page:
        return self.watched.page

    def tab_to(self, name: str) -> None:
        """Tab until what is called so has the focus; everything on the way can be seen."""
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            focused = self.page.evaluate(FOCUSED)
            if not focused["seen"]:
                self.watched.say(f"the focus on {focused} cannot be seen")
            if focused["kind"] and not focused["name"]:
                self.watched.say(f"{focused['kind']} has no name")
            if re.search(name, focused["name"]):
                return
        raise AssertionError(f"the keyboard never comes to {name} on {self.page.url}")

    def press(self, name: str) -> None:
        """Tab to a button or link, and press it."""
        self.tab_to(name)
        self.page.keyboard.press("Enter")

    def write(self, name: str, words: str) -> None:
        """Tab to a field, and write over what stands in it."""
        self.tab_to(name)
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(words)

    def stop(self) -> None:
        """Look around: axe finds nothing, and nothing stands out to the side."""
        self.page.evaluate(AXE_SCRIPT)
        for rule in self.page.evaluate(RUN_AXE):
            self.watched.say(f"axe: {rule['id']}: {rule['nodes'][0]['html'][:160]}")
        self.watched.fits()
        self.watched.look()

    def sign_in(self, address: str, team: Crew) -> None:
        """Follow a link out of a message, and sign in on the way."""
        self.page.goto(address)
        self.stop()
        self.tab_to("^Skip to the content")
        self.stop()
        self.write("Email", team.approver.user.email)
        self.write("Password", PASSWORD)
        self.page.keyboard.press("Enter")
        expect(self.page).to_have_url(re.compile(re.escape(address)))
        expect(self.page.locator(".item-banner")).to_contain_text("You are up.")


@pytest.fixture(params=LOOKS)
def hands(request: pytest.FixtureRequest, team: Crew) -> Any:
    # a smooth way to the next field would be on its way when it is looked at
    look = {**LOOKS[request.param], "reduced_motion": "reduce"}
    context = team.approver.context(signed_in=False, **look)
    page = context.new_page()
    team.approver.consoles.watch(page)
    hands = Hands(Watched(page, team.approver.url))
    yield hands
    wrong = list(dict.fromkeys(hands.watched.wrong))
    assert not wrong, "\n" + "\n".join(wrong)


def _refund(team: Crew, server: int) -> Approval:
    """A form with an amount, a choice and some lines, asked for with words from right to left."""
    started = team.start(server, "issue_refund", json.dumps({"order": ARABIC}), reason=HEBREW)
    return open_items(started)[0]


def test_a_form_is_filled_in_and_sent_with_the_keyboard_alone(
    team: Crew, server: int, hands: Hands
) -> None:
    item, page = _refund(team, server), hands.page
    hands.sign_in(path(item), team)
    hands.stop()
    hands.press(r"^Send")
    # nothing was filled in: the focus goes to what is to be mended
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was sent")
    hands.stop()
    hands.write("Amount in EUR", "12.50")
    hands.tab_to("Arrived damaged")
    page.keyboard.press("Space")
    hands.write("Message to the customer", HEBREW)
    hands.press(r"^Send")
    until(lambda: Approval.objects.get(pk=item.pk).state == ApprovalState.DECIDED)
    content = Delivery.objects.get(input_request__approval=item).response["content"]
    assert HEBREW in content.values()
    page.goto(path(item))
    expect(page.locator(".item-banner")).to_contain_text("You accepted this", timeout=SOON_MS)
    hands.stop()


def test_a_call_is_denied_with_the_keyboard_alone(team: Crew, server: int, hands: Hands) -> None:
    team.ask_first("search_*")
    long = json.dumps({"query": "Lindgren", "note": f"{ARABIC} " * 40})
    item = open_items(team.start(server, "search_orders", long, reason=HEBREW))[0]
    hands.sign_in(path(item), team)
    hands.press("show all")
    hands.stop()
    hands.write("^Reason", HEBREW)
    hands.press(r"^Deny(?!…)")
    until(lambda: Approval.objects.get(pk=item.pk).state == ApprovalState.DECIDED)
    assert Vote.objects.get(approval=item).reason == HEBREW
    hands.page.goto(path(item))
    expect(hands.page.locator(".item-banner")).to_contain_text("You denied this")
    expect(hands.page.locator("#item-votes")).to_contain_text(HEBREW)
    hands.stop()


def test_words_from_right_to_left_keep_to_themselves(team: Crew, server: int) -> None:
    """Ours around them stand where they stood, and what is typed turns with its letters."""
    page = team.approver.open(path(_refund(team, server)))
    for words in (HEBREW, ARABIC):
        isolated = page.locator("#item bdi", has_text=words).first
        expect(isolated).to_have_css("unicode-bidi", "isolate")
        expect(isolated).to_have_css("direction", "rtl")
    assert page.locator("#item").evaluate("(item) => getComputedStyle(item).direction") == "ltr"
    lines = page.get_by_label("Message to the customer")
    lines.fill(HEBREW)
    expect(lines).to_have_css("direction", "rtl")


def test_everything_is_there_at_every_width(team: Crew, server: int) -> None:
    """No word of an item is lost on a phone or at 200 % that stands on a wide screen."""
    item = _refund(team, server)
    told = {}
    for name, look in LOOKS.items():
        page = team.approver.open(path(item), **look)
        words = page.locator("#item").inner_text().split()
        # times go by meanwhile, and the hints at keys are for those who have some
        told[name] = {word for word in words if len(word) > 1 and not re.search(r"\d", word)}
    assert told["wide"] - told["phone, dark"] == set()
    assert told["wide"] - told["200 %"] == set()


def test_without_javascript_a_link_leads_to_the_decision_too(team: Crew, server: int) -> None:
    item = _refund(team, server)
    page = team.approver.context(signed_in=False, java_script_enabled=False).new_page()
    page.goto(path(item))
    page.get_by_label("Email").fill(team.approver.user.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile(re.escape(path(item))))
    page.locator("#item-form").get_by_role("button", name="Decline").click()
    expect(page.locator(".desk-message").first).to_contain_text("You declined")
    assert Approval.objects.get(pk=item.pk).state == ApprovalState.DECIDED
