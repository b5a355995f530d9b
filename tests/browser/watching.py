"""A page on which nothing of a server's may run, load, lead away, or hide what can be pressed."""

from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page, Request, expect

#: From the click to the whole page, whatever the question (ms), on a machine with other work.
FAST_MS = 5_000

_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(event.violatedDirective);
});
"""
_TOOK = """(() => {
  const [opened] = performance.getEntriesByType("navigation");
  return opened.loadEventEnd - opened.startTime;
})()"""
_OPEN_ALL = "document.querySelectorAll('#item details').forEach((one) => { one.open = true })"
_EXECUTED = "window.pwned ? ['script'] : window.violations"
_ELEMENTS = (
    "document.querySelector('base, meta[http-equiv], iframe, main style, main link') !== null"
)
#: What stands out to the right, where anything does.
_SIDEWAYS = """(() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  return [...document.querySelectorAll("main *")]
    .filter((one) => !one.childElementCount && one.getBoundingClientRect().right > wide + 1)
    .map((one) => one.outerHTML.slice(0, 120)).slice(0, 2);
})()"""
#: What lies over a button once it is scrolled to; empty: it can be pressed.
_COVERED = """(button) => {
  button.scrollIntoView({ block: "center", behavior: "instant" });
  const box = button.getBoundingClientRect();
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const pressed = box.width > 20 && box.height > 20 && (top === button || button.contains(top));
  return pressed ? "" : `${top ? top.outerHTML.slice(0, 120) : "nothing"} at ${box.y}`;
}"""
_FOREIGN_LINKS = """[...document.querySelectorAll("main a")]
  .map((link) => link.href).filter((href) => !href.startsWith(location.origin))"""


@dataclass(eq=False)
class Watched:
    """A page of somebody's, and all that should not have happened on it."""

    page: Page
    origin: str
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.add_init_script(_WATCH)
        self.page.on("dialog", lambda dialog: (self.say("a dialog"), dialog.dismiss()))
        self.page.on("popup", lambda _: self.say("a new window"))
        self.page.on("request", lambda request: self._requested(request))

    def say(self, what: str) -> None:
        self.wrong.append(f"{self.page.url}: {what}")

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((self.origin, "ws://", "data:")):
            self.say(f"asked for {request.url[:100]}")

    def go(self, address: str) -> None:
        """Open an address, fold everything out, and look at what ran."""
        response = self.page.goto(address)
        if response is None or response.status != 200:
            self.say(f"status {response and response.status}")
        took = self.page.evaluate(_TOOK)
        if took > FAST_MS:
            self.say(f"took {took:.0f} ms")
        self.page.evaluate(_OPEN_ALL)
        self.look()

    def look(self) -> None:
        """Nothing of the server's ran, loaded, or became an element."""
        if executed := self.page.evaluate(_EXECUTED):
            self.say(f"executed: {executed}")
        if self.page.evaluate(_ELEMENTS):
            self.say("markup became elements")

    def reads(self, words: str) -> None:
        """These words are to be seen, as they are."""
        if words not in self.page.locator("main").inner_text():
            self.say(f"does not show {words[:60]!r}")

    def fits(self) -> None:
        """Nothing has to be scrolled for sideways."""
        if over := self.page.evaluate(_SIDEWAYS):
            self.say(f"scrolls sideways because of {over}")

    def leads_nowhere(self) -> None:
        """Every link on the page is one of the desk's own."""
        if links := self.page.evaluate(_FOREIGN_LINKS):
            self.say(f"links to {links}")

    def press(self, choice: str) -> None:
        """Press this button of the item's form."""
        self._can_be_pressed(choice).click()

    def send(self, choice: str) -> None:
        """Send the item's form with this button, as it is sent without JavaScript."""
        self._can_be_pressed(choice)
        form = self.page.locator("#item-form")
        hidden = {
            name: form.locator(f"[name={name}]").first.input_value()
            for name in ("csrfmiddlewaretoken", "binding")
        }
        sent = self.page.request.post(
            f"{self.origin}{form.get_attribute('action')}",
            form={**hidden, "choice": choice},
            max_redirects=0,
        )
        if sent.status != 302:
            self.say(f"{choice} is answered {sent.status}")

    def _can_be_pressed(self, choice: str) -> Locator:
        """The button: in sight, with nothing over it, and nothing to be scrolled to sideways."""
        button = self.page.locator(f"#item-form button[name=choice][value={choice}]")
        expect(button).to_be_visible()
        if above := button.evaluate(_COVERED):
            self.say(f"{choice} is covered by {above}")
        self.fits()
        return button
