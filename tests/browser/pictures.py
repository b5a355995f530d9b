"""Takes the pictures of the documentation: `python -m tests.browser.pictures ADDRESS SIMULATOR`.

ADDRESS is that of a `./desk demo` with new data, SIMULATOR that of its MCP server without the
path, such as http://127.0.0.1:8650. The pictures go to docs/images; what is typed and decided on
the way is part of what they show. That of the dashboard was taken by hand, on a desk with the
made-up history of `./desk make_history`: a demo has no weeks behind it.
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.chromium import chromium

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
WIDE: ViewportSize = {"width": 1280, "height": 800}
ENDS_WITHIN_MS = 60_000


def main(address: str, simulator: str) -> None:
    """Take all of them, in this order: the later ones show what the earlier ones decided."""
    with chromium() as browser:
        approver = _sign_in(browser, address, "approver", viewport=WIDE)
        _inbox(approver)
        _item(approver)
        _several(approver)
        _phone(browser, address)
        operator = _sign_in(browser, address, "operator", viewport=WIDE)
        _operation(operator, approver)
        _reconcile(operator, simulator)


def _sign_in(browser: Browser, address: str, role: str, **options: object) -> Page:
    page = browser.new_context(base_url=address, **options).new_page()  # type: ignore[arg-type]
    page.goto("/accounts/login/")
    page.fill("[name=login]", f"{role}@demo.example")
    page.fill("[name=password]", f"{role}-demo-pass")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("[data-live-word]")).to_have_text("live")
    return page


def _open(page: Page, tool: str) -> None:
    """The item of this tool, from the list, as it stands once nothing moves any more."""
    page.goto("/inbox/")
    page.locator("[data-row]", has_text=tool).first.click()
    expect(page.locator("#item-title")).to_contain_text(tool)
    page.wait_for_load_state("networkidle")
    page.mouse.move(0, 0)


def _save(page: Page, name: str) -> None:
    page.screenshot(path=IMAGES / f"{name}.png")


def _inbox(page: Page) -> None:
    _open(page, "deploy_project")
    _save(page, "inbox")


def _item(page: Page) -> None:
    """One item alone: the column beside the list."""
    page.set_viewport_size({"width": WIDE["width"], "height": 1120})
    _open(page, "archive_tickets")
    column = page.locator("#inbox-detail").bounding_box()
    assert column is not None
    page.screenshot(
        path=IMAGES / "item.png",
        clip={"x": column["x"], "y": 0, "width": column["width"], "height": 1120},
    )
    page.set_viewport_size(WIDE)


def _several(page: Page) -> None:
    page.goto("/inbox/")
    boxes = page.locator("[data-pick]")
    for number in range(min(2, boxes.count())):
        boxes.nth(number).check()
    page.locator("#inbox-picked [value=approve]").click()
    expect(page.locator("#several-form")).to_be_visible()
    # what is picked stays picked, once the scripts of the page have run
    expect(page.locator("[data-pick]").first).to_be_checked()
    expect(page.locator(".inbox-keys")).to_be_visible()
    _save(page, "several")


def _phone(browser: Browser, address: str) -> None:
    size = {"width": 390, "height": 844}
    options = {"viewport": size, "device_scale_factor": 2, "color_scheme": "dark"}
    page = _sign_in(browser, address, "approver", **options)
    _open(page, "archive_tickets")
    _save(page, "phone")


def _operation(operator: Page, approver: Page) -> None:
    """One that was allowed, and whose question was answered, to its end."""
    _open(approver, "deploy_project")
    whole = approver.get_by_role("link", name="the whole operation").get_attribute("href")
    approver.locator("#item [data-key=a]").click()
    row = approver.locator("[data-row]", has_text="deploy_project").filter(has_text="Form")
    expect(row).to_be_visible(timeout=ENDS_WITHIN_MS)
    row.click()
    expect(approver.locator("#item-title")).to_have_text("deploy_project")
    for group in approver.locator("#item-form .form-selectgroup").all():
        group.locator("label").first.click()
    approver.locator("#item [data-key=a]").click()
    operator.goto(whole or "/operations/")
    expect(operator.locator("#operation-state")).to_contain_text(
        "Completed", timeout=ENDS_WITHIN_MS
    )
    operator.set_viewport_size({"width": 1280, "height": 1180})
    operator.reload()
    expect(operator.locator("[data-live-word]")).to_have_text("live")
    _save(operator, "operation")


def _reconcile(operator: Page, simulator: str) -> None:
    """A call whose answer breaks off, so that nobody knows what came of it."""
    faults = f"{simulator}/faults"
    operator.request.post(faults, data=[{"fault": "json-broken", "on": "tools/call"}])
    operator.goto("/servers/")
    operator.get_by_role("link", name="workshop").click()
    server = operator.url.rstrip("/").rsplit("/", 1)[1]
    operator.goto(f"/operations/new/?server={server}&tool=run_report")
    operator.get_by_role("group", name="Region").get_by_text("eu-central").click()
    operator.get_by_label("Reason").fill("Numbers for Monday")
    operator.get_by_role("button", name="Start").click()
    state = operator.locator("#operation-state")
    expect(state).to_contain_text("Outcome unknown", timeout=ENDS_WITHIN_MS)
    operator.request.post(faults, data=[])
    operator.set_viewport_size({"width": 1000, "height": 1020})
    operator.get_by_role("link", name="Repair").click()
    expect(operator.get_by_role("radio")).not_to_have_count(0)
    expect(operator.locator("[data-live-word]")).to_have_text("live")
    _save(operator, "reconcile")


if __name__ == "__main__":
    main(*sys.argv[1:])
