"""The policies page in a real browser: rules are moved and edited with the keyboard alone."""

from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from playwright.sync_api import Browser, Locator, Page, expect

from approvals.models import PolicyRule
from mcpdesk.accounts.models import Membership, Role
from tests.factories import MembershipFactory, PolicyRuleFactory
from tests.web.browsing import signed_in

pytestmark = pytest.mark.browser


@pytest.fixture
def admin(live_layer: str) -> Membership:
    membership: Membership = MembershipFactory(role=Role.ADMIN)
    for name in ("one", "two", "three"):
        PolicyRuleFactory(team=membership.team, name=name)
    return membership


@pytest.fixture
def page(chromium: Browser, desk_url: str, admin: Membership) -> Iterator[Page]:
    """A page of the admin; one that logs an error fails its test."""
    context = chromium.new_context(base_url=desk_url)
    name = django_settings.SESSION_COOKIE_NAME
    session = signed_in(admin).cookies[name].value
    context.add_cookies([{"name": name, "value": session, "url": desk_url}])
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    yield page
    context.close()
    assert not problems


def _order() -> list[str]:
    return list(PolicyRule.objects.order_by("position").values_list("name", flat=True))


def said(page: Page) -> Locator:
    """What the list says of the last move."""
    return page.locator("#rules").get_by_role("status")


def test_alt_and_an_arrow_move_the_rule_with_the_focus_on_it(page: Page) -> None:
    page.goto("/policies/")
    page.get_by_role("button", name="Up three").focus()
    for place, order in ((2, ["one", "three", "two"]), (1, ["three", "one", "two"])):
        page.keyboard.press("Alt+ArrowUp")
        expect(said(page)).to_have_text(f"“three” is rule {place} of 3 now.")
        expect(page.get_by_role("button", name="Up three")).to_be_focused()
        # htmx takes a list over a moment after it has put it in
        expect(page.locator(".htmx-settling, .htmx-added")).to_have_count(0)
        assert _order() == order
    # it is the first: the key does nothing, and the focus stays
    page.keyboard.press("Alt+ArrowUp")
    expect(page.get_by_role("button", name="Up three")).to_be_focused()
    page.keyboard.press("Alt+ArrowDown")
    expect(said(page)).to_have_text("“three” is rule 2 of 3 now.")
    assert _order() == ["one", "three", "two"]


def test_an_order_that_somebody_else_changed_is_told_and_shown(page: Page) -> None:
    page.goto("/policies/")
    PolicyRule.objects.filter(name="one").update(name="the one", version=2)
    page.get_by_role("button", name="Down two").click()
    expect(said(page)).to_contain_text("Somebody else changed the policy")
    expect(page.locator("#rules")).to_contain_text("the one")
    assert _order() == ["the one", "two", "three"]


def test_the_form_shows_what_the_choice_is_about(page: Page) -> None:
    page.goto("/policies/new/")
    boxes = page.get_by_role("group", name="People who decide")
    expect(boxes).to_be_hidden()
    page.get_by_label("Who decides").select_option("people")
    expect(boxes).to_be_visible()
    page.get_by_label("What happens").select_option("allow")
    expect(page.get_by_label("Who decides")).to_be_hidden()
    expect(page.get_by_label("Who answers")).to_be_visible()
    expect(page.get_by_label("How many must agree on the answer")).to_be_hidden()
    page.get_by_label("Who answers").select_option("admins")
    expect(page.get_by_label("How many must agree on the answer")).to_be_visible()
