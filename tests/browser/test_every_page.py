"""Every page in light and dark, wide and on a phone: pictures kept, rules of the house checked."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from playwright.sync_api import Browser, Page, Response

from tests.browser.pages import NO_PAGES, Shot, settle, shots
from tests.browser.people import Crew, Person, crew
from tests.browser.whole_desk import WholeDesk
from tests.conftest import CHECKOUT

pytestmark = pytest.mark.browser

PICTURES = CHECKOUT / "artifacts" / "screenshots"
PHONE, WIDE, HEIGHT = 390, 1440, 900
Scheme = Literal["light", "dark"]
LOOKS: list[tuple[Scheme, int]] = [
    ("light", WIDE),
    ("dark", WIDE),
    ("dark", PHONE),
    ("light", PHONE),
]
#: axe looks at both schemes and at both widths, once each.
AXE_LOOKS = {("light", WIDE), ("dark", PHONE)}
RUN_AXE = "axe.run({ resultTypes: ['violations'] }).then((found) => found.violations)"
LOOSE = ("unsafe-inline", "unsafe-eval", "unsafe-hashes", "*", "http:", "https:")


@dataclass(slots=True)
class Inspector:
    """Looks at one page in all looks, and writes down what is wrong."""

    page: Page
    shot: Shot
    problems: list[str] = field(default_factory=list)

    def inspect(self) -> list[str]:
        response = self.page.goto(self.shot.path)
        assert response is not None
        settle(self.page)
        self._policy(response)
        self.page.evaluate(AXE_SCRIPT)
        for scheme, width in LOOKS:
            self._dress(scheme, width)
            self._scrolling(width)
            picture = PICTURES / f"{self.shot.name}-{scheme}-{width}.png"
            self.page.screenshot(path=picture, animations="disabled")
            if (scheme, width) in AXE_LOOKS:
                self._axe(scheme, width)
        return self.problems

    def _dress(self, scheme: Scheme, width: int) -> None:
        """The look, in a window as high as the page is."""
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        self.page.set_viewport_size({"width": width, "height": HEIGHT})
        needed = self.page.evaluate("document.documentElement.scrollHeight")
        self.page.set_viewport_size({"width": width, "height": max(HEIGHT, needed)})

    def _say(self, problem: str) -> None:
        self.problems.append(f"{self.shot.name} ({self.shot.path}): {problem}")

    def _policy(self, response: Response) -> None:
        policy = response.headers.get("content-security-policy", "")
        words = policy.replace(";", " ").split()
        if "default-src 'none'" not in policy or any(w.strip("'") in LOOSE for w in words):
            self._say(f"a loose Content-Security-Policy: {policy}")

    def _scrolling(self, width: int) -> None:
        needed = self.page.evaluate("document.documentElement.scrollWidth")
        if needed > width:
            self._say(f"scrolls sideways at {width} px: needs {needed} px")

    def _axe(self, scheme: Scheme, width: int) -> None:
        for rule in self.page.evaluate(RUN_AXE):
            nodes = "; ".join(str(node["html"])[:160] for node in rule["nodes"][:2])
            self._say(f"axe, {scheme}, {width} px: {rule['id']}: {nodes}")


@pytest.fixture
def page_of(
    chromium_browser: Browser, desk: WholeDesk, team: Crew
) -> Iterator[Callable[[Person | None], Page]]:
    """page_of(person) is that person's one page, page_of(None) one with nobody signed in."""
    pages: dict[Person | None, Page] = {}

    def page_of(person: Person | None) -> Page:
        if person not in pages:
            context = (
                person.context() if person else chromium_browser.new_context(base_url=desk.url)
            )
            pages[person] = context.new_page()
            team.operator.consoles.watch(pages[person])
        return pages[person]

    yield page_of
    for page in pages.values():
        page.context.close()


#: Pages of allauth and of Django's admin (some of them are shown), and what has no pages.
_NOT_OURS = ("accounts/", "support/", "api/v1/")


def _routes(patterns: list[Any]) -> Iterator[tuple[str, URLPattern]]:
    """Our own routes by name."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver) and str(pattern.pattern) not in _NOT_OURS:
            yield from _routes(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield pattern.name, pattern


def _takes_posts_only(person: Person, name: str, pattern: URLPattern) -> bool:
    """The method is looked at before anything else, so any id will do."""
    given = [uuid.uuid4() if "UUID" in str(c) else 1 for c in pattern.pattern.converters.values()]
    return person.get(reverse(name, args=given)).status == 405


@pytest.mark.timeout(900)  # some hundred looks at pages
def test_every_page_is_sound_in_every_look(
    team: Crew,
    desk: WholeDesk,
    employ_at: Callable[[WholeDesk], Callable[..., Person]],
    page_of: Callable[[Person | None], Page],
    server: int,
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    everything = shots(team, server, crew("Warehouse", employ_at(desk)))
    problems = [
        problem
        for shot in everything
        for problem in Inspector(page_of(shot.person), shot).inspect()
    ]
    assert problems == []

    shown = {shot.route for shot in everything} | NO_PAGES.keys()
    unseen = {
        name
        for name, pattern in _routes(get_resolver().url_patterns)
        if name not in shown and not _takes_posts_only(team.admin, name, pattern)
    }
    assert unseen == set(), "add these pages to tests/browser/pages.py"
