"""The pages of the history and of exports: what they list, both ways, and what they cost."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import ListPlace, SavedFilter, Verdict
from approvals.words import said
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit.models import Export
from tasks_monitor import history as operation_history
from tasks_monitor.models import Operation, Server
from tasks_monitor.states import State
from tests.factories import NOW, ApprovalFactory, OperationFactory
from tests.history.conftest import Join

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(auditor: Member) -> Client:
    return _browser(auditor)


def _browser(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


def _tools(client: Client, query: str = "") -> list[str]:
    rows = client.get(f"/history/{query}").context["rows"]
    return [row["operation"].tool_name for row in rows]


def _ended(server: Server, number: int, **more: Any) -> Operation:
    began = NOW + timedelta(minutes=number)
    made: Operation = OperationFactory(
        **{
            "server": server,
            "tool_name": f"tool_{number}",
            "state": State.COMPLETED,
            "created_at": began,
            "finished_at": began + timedelta(seconds=10 * number),
            **more,
        }
    )
    return made


@pytest.mark.parametrize("page", ["/history/", "/history/approvals/", "/audit/"])
def test_a_filter_that_means_nothing_is_said_to_be_left_out(browser: Client, page: str) -> None:
    def said(query: str) -> bool:
        return "Left out, because it means nothing" in browser.get(page + query).content.decode()

    assert "since “2026-13-45”" in browser.get(f"{page}?since=2026-13-45").content.decode()
    assert said("?since=2026-13-45&server=x") and said("?server=x")
    assert not said("") and not said("?since=2026-11-05&until=&utm=x")


def test_it_lists_what_the_team_has_run_newest_first(browser: Client, server: Server) -> None:
    OperationFactory()
    for number in range(3):
        _ended(server, number)
    assert _tools(browser) == ["tool_2", "tool_1", "tool_0"]
    assert _tools(browser, "?sort=oldest") == ["tool_0", "tool_1", "tool_2"]


def test_the_longest_are_listed_among_what_has_ended(browser: Client, server: Server) -> None:
    for number in range(3):
        _ended(server, number)
    OperationFactory(server=server, tool_name="still running", state=State.WORKING)
    assert _tools(browser, "?sort=longest") == ["tool_2", "tool_1", "tool_0"]


@pytest.mark.parametrize("sort", ["newest", "oldest", "longest"])
def test_pages_lead_to_each_other_both_ways_and_miss_nothing(
    browser: Client, server: Server, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    for number in range(7):
        _ended(server, number, created_at=NOW, finished_at=NOW + timedelta(seconds=number // 2))
    monkeypatch.setattr(operation_history.page, "__defaults__", ("", 3))
    pages, query = [], f"?sort={sort}"
    for _ in range(3):
        found = browser.get(f"/history/{query}").context
        pages.append([row["operation"].pk for row in found["rows"]])
        query = found["older"]
    assert query == ""
    assert len({pk for page in pages for pk in page}) == 7
    back = browser.get(f"/history/{found['newer']}").context
    assert [row["operation"].pk for row in back["rows"]] == pages[1]
    first = browser.get(f"/history/{back['newer']}").context
    assert [row["operation"].pk for row in first["rows"]] == pages[0]
    assert first["newer"] == ""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?tool=tool_1", ["tool_1"]),
        ("?server={server}", ["tool_2", "tool_1", "tool_0"]),
        ("?started_by={starter}", ["tool_1"]),
        ("?started_by=service", ["tool_2"]),
        ("?decided_by={decider}", ["tool_0"]),
        ("?state=failed", ["tool_2"]),
        ("?outcome=tool_error", ["tool_1"]),
        ("?outcome=succeeded", ["tool_0"]),
        ("?outcome=ended_otherwise", ["tool_2"]),
        ("?outcome=not_ended", []),
        ("?longer=10s&shorter=15s", ["tool_1"]),
        ("?since=2026-01-01T00:00Z&until=2000-01-01", []),
        ("?text=Rollback+TOOL", ["tool_1"]),
        ("?text={id}", ["tool_0"]),
        ("?text=rollback+nothing", []),
        ("?text=tool_1&state=completed&outcome=tool_error&server={server}", ["tool_1"]),
    ],
)
def test_filters_narrow_it_alone_and_together(
    browser: Client, auditor: Member, server: Server, query: str, expected: list[str]
) -> None:
    first = _ended(server, 0)
    second = _ended(server, 1, is_error=True, reason="rollback of Friday")
    _ended(server, 2, state=State.FAILED, started_by=None)
    said(ApprovalFactory(operation=first), auditor.user_id, "fine")
    places = {
        "server": server.pk,
        "starter": second.started_by_id,
        "decider": auditor.user_id,
        "id": str(first.pk)[:8],
    }
    assert _tools(browser, query.format(**places)) == expected


def test_numbers_beyond_a_thousand_are_not_counted(
    browser: Client, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpdesk.web.views.history._COUNTED", 2)
    monkeypatch.setattr(operation_history.page, "__defaults__", ("", 1))
    for number in range(2):
        _ended(server, number)
    assert "2 rows" in browser.get("/history/").content.decode()
    _ended(server, 2)
    assert "2+ rows" in browser.get("/history/").content.decode()


@pytest.mark.parametrize("path", ["/history/", "/history/approvals/", "/exports/"])
@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.OPERATOR])
def test_others_are_told_that_they_may_not(join: Join, path: str, role: Role) -> None:
    browser = _browser(join(role))
    refused = browser.get(path)
    assert refused.status_code == 403
    assert "read the whole history" in refused.content.decode()
    assert 'href="/history/"' not in browser.get("/operations/").content.decode()


def test_approvals_are_listed_with_who_decided_them(browser: Client, server: Server) -> None:
    approved = _approval(server, "tool_a", Verdict.APPROVE)
    _approval(server, "tool_b", Verdict.DENY)
    _approval(server, "tool_c", "")
    rows = browser.get("/history/approvals/?decision=approve").context["rows"]
    assert [row.pk for row in rows] == [approved.pk]
    page = browser.get("/history/approvals/").content.decode()
    assert f"Approved by {approved.decided_by}" in page


def _approval(server: Server, tool: str, decision: str) -> Any:
    operation = OperationFactory(server=server, tool_name=tool)
    decided = {"state": "decided", "decision": decision, "closed_at": NOW, "decided_at": NOW}
    columns = {**decided, "decided_by": operation.started_by} if decision else {}
    return ApprovalFactory(input_request__operation=operation, **columns)


@pytest.mark.parametrize("path", ["/history/", "/history/approvals/"])
def test_fifty_rows_cost_as_many_queries_as_two(browser: Client, server: Server, path: str) -> None:
    def cost(rows: int) -> int:
        for number in range(rows):
            operation = _ended(server, number)
            ApprovalFactory(input_request__operation=operation)
        with CaptureQueriesContext(connection) as queries:
            browser.get(path)
        return len(queries)

    browser.get(path)
    assert cost(2) == cost(48) == cost(10) == 11  # the query that finds a page counts on from it


@pytest.mark.parametrize("path", ["/history/", "/history/approvals/"])
def test_what_took_long_is_counted_apart_from_the_page(
    browser: Client, server: Server, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("mcpdesk.web.views.history._COUNTED", 60)
    for number in range(70):
        began = NOW - timedelta(seconds=number)
        operation = _ended(server, number, created_at=began, finished_at=NOW)
        ended = {"state": "expired", "created_at": began, "closed_at": NOW}
        ApprovalFactory(input_request__operation=operation, **ended)

    def said(query: str) -> str:
        found = re.search(r"([\d,]+\+?) rows", browser.get(f"{path}{query}").content.decode())
        return found[1] if found else ""

    assert said("") == "60+"
    assert said("?longer=16s&shorter=68s") == "53"
    assert said("?shorter=68s") == "60+"
    older = browser.get(f"{path}?shorter=58s").context["older"]
    assert said(older) == said("?shorter=58s") == "59"


def test_a_list_is_kept_under_a_name_beside_one_of_the_inbox(
    browser: Client, auditor: Member
) -> None:
    for place in (ListPlace.INBOX, ListPlace.APPROVALS):
        SavedFilter.objects.create(team=auditor.team, user=auditor.user, place=place, name="Bad")
    browser.post("/history/operations/save/?outcome=tool_error&nonsense=1", {"name": "Bad"})
    kept = SavedFilter.objects.get(place=ListPlace.OPERATIONS)
    assert (kept.name, kept.query) == ("Bad", "outcome=tool_error")
    page = browser.get("/history/").content.decode()
    assert 'href="/history/?outcome=tool_error"' in page
    assert "History of operations" in browser.get("/inbox/filters/").content.decode()


def test_an_export_begins_with_what_the_list_shows_and_its_page_follows_it(
    browser: Client, server: Server
) -> None:
    _ended(server, 1)
    begun = browser.post("/exports/new/operations/?tool=tool_1&at=x", {"format": "ndjson"})
    export = Export.objects.get()
    assert (export.query, export.format) == ("tool=tool_1", "ndjson")
    assert "has not begun" in browser.get(begun.url).content.decode()
    content = b"".join(browser.post(f"/exports/{export.pk}/file/"))
    assert content.count(b"\n") == 1
    assert "the file is whole" in browser.get(begun.url).content.decode()


def test_nobody_downloads_what_somebody_else_began(browser: Client, join: Join) -> None:
    browser.post("/exports/new/approvals/", {"format": "csv"})
    path = f"/exports/{Export.objects.get().pk}/"
    other = _browser(join(Role.ADMIN))
    assert other.get(path).status_code == 200
    assert other.post(f"{path}file/").status_code == 404
    assert browser.post(f"{path}file/", {"after": "nonsense"}).status_code == 404
