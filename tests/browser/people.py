"""People of a team, each in a browser of their own, and what they do all the time."""

import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from django.test import Client
from playwright.sync_api import APIResponse, Browser, BrowserContext, Locator, Page, expect

from approvals.models import Approval, ApprovalState, PolicyRule
from approvals.policies import edition
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.accounts.sessions import TEAM_KEY
from tests.factories import MembershipFactory, PolicyRuleFactory, TeamFactory

PASSWORD = "correct horse battery"  # as tests.factories gives everybody
CSRF = "k" * 32
LIVE = "[data-live-word]"
#: Generous: everything may be running on the same two cores.
SOON_MS = 15_000

T = TypeVar("T")

# what Chromium says of refusals that the pages expect, and it and htmx of a desk that is away
_EXPECTED = re.compile(r"status of (403|404|409|422)|net::ERR_|^htmx:(sendError|afterRequest),")


@dataclass(slots=True)
class Consoles:
    """What the consoles of all open pages said."""

    said: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.said.append(f"{page.url}: {error}"))
        page.on("console", lambda message: self._hear(page, message.type, message.text))

    def _hear(self, page: Page, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not _EXPECTED.search(text):
            self.said.append(f"{page.url}: {text}")


@dataclass(eq=False)
class Person:
    """A member of a team, with a browser that is signed in."""

    user: User
    team: Team
    browser: Browser
    url: str
    consoles: Consoles
    contexts: list[BrowserContext]

    @property
    def name(self) -> str:
        return self.user.name

    def context(self, *, signed_in: bool = True, **options: Any) -> BrowserContext:
        """One more browser of this person."""
        context = self.browser.new_context(base_url=self.url, **options)
        context.set_default_timeout(SOON_MS)
        self.contexts.append(context)
        if signed_in:
            cookies = {"sessionid": self.session_key, "csrftoken": CSRF}
            context.add_cookies(
                [{"name": name, "value": value, "url": self.url} for name, value in cookies.items()]
            )
        return context

    @cached_property
    def session_key(self) -> str:
        """A session of this person that looks at this team."""
        client = Client()
        client.force_login(self.user)
        session = client.session
        session[TEAM_KEY] = self.team.pk
        session.save()
        return str(session.session_key)

    def open(self, path: str, **options: Any) -> Page:
        """A page of this person; a live one is returned once it is live."""
        page = self.context(**options).new_page()
        self.consoles.watch(page)
        page.goto(path)
        if options.get("java_script_enabled", True):
            expect(page.locator(LIVE)).to_have_text("live", timeout=SOON_MS)
        return page

    def sign_in(self, path: str = "/", **options: Any) -> Page:
        """Sign in as a person does, on the way to this address."""
        page = self.context(signed_in=False, **options).new_page()
        self.consoles.watch(page)
        page.goto(path)
        page.get_by_label("Email").fill(self.user.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator(".rail-user-name")).to_contain_text(self.name)
        return page

    @cached_property
    def _requests(self) -> BrowserContext:
        return self.context()

    def get(self, path: str) -> APIResponse:
        """A request of this person's browser, without a page."""
        return self._requests.request.get(path, max_redirects=0)

    def post(self, path: str, **form: Any) -> APIResponse:
        """A form of this person, sent without a page."""
        return self._requests.request.post(
            path, form=form, headers={"X-CSRFToken": CSRF}, max_redirects=0
        )


@dataclass(slots=True)
class Crew:
    """A team with one person for each role. `hire` adds more."""

    team: Team
    hire: Callable[[Role], Person]
    operator: Person
    approver: Person
    auditor: Person
    admin: Person

    def add_server(self, url: str, *, name: str = "peer", questions_to: str = "approvers") -> int:
        """The admin adds a server; it is tested on the way. Its id."""
        added = self.admin.post(
            "/servers/new/",
            name=name,
            url=url,
            identity="platform-bot",
            questions_to=questions_to,
            allow_private="on",
            auth_kind="none",
        )
        assert added.status == 302, added.text()
        return int(added.headers["location"].strip("/").rsplit("/", 1)[1])

    def ask_first(self, tool: str, **ask: str) -> int:
        """The admin puts a rule in front of all others that asks before this tool runs. Its id."""
        rule = {"name": f"Ask before {tool}", "server": "*", "tool": tool, "starter": "anyone"}
        asks = {"effect": "ask", "audience": "approvers", "quorum": "1", "at_deadline": "expire"}
        given = {**rule, **asks, "four_eyes": "on", "version": "0", **ask}
        saved = self.admin.post("/policies/new/", **given)
        assert saved.status == 302, saved.text()
        rules = PolicyRule.objects.filter(team_id=self.team.pk).order_by("position")
        made = rules.get(name=rule["name"]).pk
        seen = edition(self.team.pk)
        assert self.admin.post(f"/policies/{made}/move/", to="1", edition=seen).status == 302
        return made

    def start(self, server: int, tool: str, arguments: str = "{}", **form: str) -> str:
        """The operator starts a tool with these arguments (JSON). The operation's id."""
        started = self.operator.post(
            f"/operations/new/?server={server}&tool={tool}",
            arguments=arguments,
            key=str(uuid.uuid4()),
            **{"questions_to": "approvers", **form},
        )
        assert started.status == 302, started.text()
        return started.headers["location"].strip("/").rsplit("/", 1)[1]


def crew(name: str, employ: Callable[[Membership], Person]) -> Crew:
    """A new team with somebody for each role, whose policy lets everything run."""
    team = TeamFactory(name=name)
    PolicyRuleFactory(team=team, name="Everything runs")

    def hire(role: Role, name: str = "Second Approver") -> Person:
        return employ(MembershipFactory(team=team, role=role, user__name=name))

    return Crew(
        team,
        hire,
        operator=hire(Role.OPERATOR, "Oskar Lind"),
        approver=hire(Role.APPROVER, "Amelia Nowak"),
        auditor=hire(Role.AUDITOR, "Audrey Moreau"),
        admin=hire(Role.ADMIN, "Adam Okafor"),
    )


def rows(page: Page) -> Locator:
    """The items of the inbox's list."""
    return page.locator("[data-row]")


def open_row(page: Page, row: Locator) -> None:
    """Open an item from the list, and wait until it was: the first one stands open already."""
    address = (row.get_attribute("href") or "").split("?")[0]
    row.click()
    expect(page).to_have_url(re.compile(re.escape(address)))


def state(page: Page) -> Locator:
    """The line of an operation's page that says in words where it is."""
    return page.locator(".state-line")


def until(read: Callable[[], T]) -> T:
    """Read again and again until there is something (true), within the usual time; it."""
    deadline = time.monotonic() + SOON_MS / 1000
    while not (found := read()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)
    return found


def open_items(operation: str, count: int = 1) -> list[Approval]:
    """The open items of this operation, once there are so many."""
    waiting = Approval.objects.filter(operation_id=operation, state=ApprovalState.OPEN)
    return until(lambda: found if len(found := list(waiting.order_by("pk"))) == count else [])


def path(item: Approval) -> str:
    """The address of an item."""
    return f"/inbox/{item.pk}/"


def say_yes(page: Page, question: str) -> None:
    """Choose the yes of a yes or no question in the opened item's form."""
    page.get_by_role("group", name=question).get_by_text("Yes", exact=True).click()


def accept(page: Page) -> None:
    """Press the first button of the opened item's form."""
    page.locator("button[name=choice][value=accept]").click()
