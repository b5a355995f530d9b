"""Without scripts a page is dark where the system is: one sheet, made from the rules for dark."""

import re

import pytest
from playwright.sync_api import Browser

from tests.web import dark_rules


def test_the_sheet_holds_every_rule_for_dark() -> None:
    made = dark_rules.SHEET.read_text()
    assert made == dark_rules.rules(), "run python -m tests.web.dark_rules"
    assert "--tblr-body-bg" in made
    assert ".server-badge" in made


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("scheme", "is_dark"), [("dark", True), ("light", False)])
def test_a_page_without_scripts_follows_the_system(
    chromium: Browser,
    desk_url: str,
    scheme: str,
    is_dark: bool,
) -> None:
    context = chromium.new_context(
        base_url=desk_url,
        java_script_enabled=False,
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    page = context.new_page()
    page.goto("/accounts/login/")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    context.close()
    found = re.match(r"oklch\(([0-9.]+) ", ground)
    assert found, ground
    assert (float(found[1]) < 0.5) is is_dark
