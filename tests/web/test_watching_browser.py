"""The dashboard and the page of an operation in a real browser: they follow, and do not jump."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import Page, expect

from mcpdesk.accounts.models import Membership
from mcpdesk.audit.log import DESK, record
from tasks_monitor.engine import rows
from tasks_monitor.json_tree import MOST_MEMBERS
from tasks_monitor.models import HistoryEntry, Operation, Payload, Server
from tasks_monitor.states import State
from tests.factories import OperationFactory
from tests.web.test_live_browser import (  # noqa: F401 - fixtures
    WITHIN_MS,
    Open,
    is_live,
    open_as,
    operator,
    server,
)

pytestmark = pytest.mark.browser


def move(operation: Operation, after: State) -> None:
    with transaction.atomic():
        rows.move(rows.lock(operation.pk), after, now=timezone.now(), reason="because")


def happen(operation: Operation, first: int, last: int) -> None:
    with transaction.atomic():
        for number in range(first, last + 1):
            record(
                "call.sent",
                team_id=operation.team_id,
                actor=DESK,
                now=timezone.now(),
                operation_id=operation.pk,
                attempt=number,
                request_id=number,
                round=0,
            )


def top_of(page: Page, selector: str) -> float:
    # at once: an element that was found first may have been taken by its successor when it is asked
    script = "(selector) => document.querySelector(selector).getBoundingClientRect().y"
    return float(page.evaluate(script, selector))


def test_the_dashboard_follows_without_reloading_and_without_a_jump(
    operator: Membership,  # noqa: F811
    server: Server,  # noqa: F811
    open_as: Open,  # noqa: F811
) -> None:
    operation = OperationFactory(server=server, state=State.WORKING, created_at=timezone.now())
    page = open_as(operator, "/")
    is_live(page)
    page.evaluate("window.same = true")
    running = page.locator('.tile[href$="state=working"] .tile-count')
    expect(running).to_have_text("1")
    page.locator("#table-outcomes summary").click()
    charts = top_of(page, "#chart-people")
    move(operation, State.COMPLETED)
    expect(running).to_have_text("0", timeout=WITHIN_MS)
    # the charts are asked for at most every few seconds
    expect(page.locator("#chart-outcomes figcaption")).to_contain_text(
        "1 operation ended", timeout=15_000
    )
    expect(page.locator("#table-outcomes tbody")).to_contain_text("to")
    assert abs(top_of(page, "#chart-people") - charts) < 2
    assert page.evaluate("window.same")


def test_the_timeline_grows_by_itself_and_shows_older_events_on_demand(
    operator: Membership,  # noqa: F811
    server: Server,  # noqa: F811
    open_as: Open,  # noqa: F811
) -> None:
    operation = OperationFactory(server=server, state=State.WORKING, created_at=timezone.now())
    happen(operation, 1, 70)
    page = open_as(operator, f"/operations/{operation.pk}/")
    is_live(page)
    lines = page.locator(".tl li")
    expect(lines).to_have_count(50)
    page.get_by_role("link", name="Older events").press("Enter")
    expect(lines).to_have_count(70)
    expect(lines.last).to_contain_text("Call 1 sent")
    happen(operation, 71, 73)
    expect(lines).to_have_count(73, timeout=WITHIN_MS)
    expect(lines.first).to_contain_text("Call 73 sent")
    expect(lines.last).to_contain_text("Call 1 sent")


def test_the_bar_of_phases_follows_the_operation(
    operator: Membership,  # noqa: F811
    server: Server,  # noqa: F811
    open_as: Open,  # noqa: F811
) -> None:
    begin = timezone.now() - timedelta(minutes=5)
    operation = OperationFactory(server=server, state=State.CALLING, created_at=begin)
    HistoryEntry.objects.filter(pk=operation.pk).update(state_since=begin)
    page = open_as(operator, f"/operations/{operation.pk}/")
    is_live(page)
    expect(page.locator(".phase-legend")).to_contain_text("Running on build-server 5 min")
    move(operation, State.COMPLETED)
    expect(page.locator(".phase-legend")).not_to_contain_text("so far", timeout=WITHIN_MS)


def _completed_with(structured: Any, at: Server) -> Operation:
    now = timezone.now()
    operation: Operation = OperationFactory(
        server=at, state=State.COMPLETED, created_at=now, finished_at=now
    )
    result = {"content": [], "structuredContent": structured}
    Payload.objects.filter(pk=operation.pk).update(result=result)
    return operation


def test_the_tree_of_a_result_is_searched_and_copied(
    operator: Membership,  # noqa: F811
    server: Server,  # noqa: F811
    open_as: Open,  # noqa: F811
) -> None:
    operation = _completed_with({"a": {"b": {"deep": "Needle\u202e"}}}, at=server)
    page = open_as(
        operator,
        f"/operations/{operation.pk}/",
        permissions=["clipboard-read", "clipboard-write"],
    )
    expect(page.get_by_text("Needle")).to_be_hidden()
    page.get_by_label("Search in the structured content").fill("needle")
    expect(page.get_by_text("Needle")).to_be_visible()
    expect(page.locator("[data-tree-said]")).to_have_text("1 found")
    page.get_by_role("button", name="Copy JSON").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == '{"a": {"b": {"deep": "Needle\u202e"}}}'


def test_a_search_in_a_tree_that_is_cut_says_so(
    operator: Membership,  # noqa: F811
    server: Server,  # noqa: F811
    open_as: Open,  # noqa: F811
) -> None:
    operation = _completed_with([*["hay"] * MOST_MEMBERS, "needle"], at=server)
    page = open_as(operator, f"/operations/{operation.pk}/")
    page.get_by_label("Search in the structured content").fill("needle")
    expect(page.locator("[data-tree-said]")).to_have_text(
        "0 found in the beginning, which is shown"
    )
