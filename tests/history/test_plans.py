"""No page of a long history reads a whole table: PostgreSQL's own plans say so."""

from collections.abc import Iterator
from datetime import UTC

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.pace import people_paces
from benchmarks import history
from benchmarks.plans import big_scans
from mcpdesk.accounts.access import member_in
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.audit import sealing
from mcpdesk.web import days
from mcpdesk.web.made import filling
from mcpdesk.web.made.filling import Size, fill
from tasks_monitor.charts import Narrow, broken, ended
from tasks_monitor.models import ChartDay, Operation, Server
from tasks_monitor.spans import Range, span

# tables are filled, indexes built anew and statistics taken: none of that is for a transaction
pytestmark = pytest.mark.django_db(transaction=True)

SIZE = Size(operations=6000, events=12_000, days=400, people=12)


@pytest.fixture
def years() -> None:
    """A history with something for each filter to find."""
    for model in (Membership, User, Team):
        model.objects.all().delete()
    fill(SIZE, timezone.now(), lambda *_: None)
    sealing.seal_due(timezone.now())


@pytest.fixture
def unwilling() -> Iterator[None]:
    """PostgreSQL reads a whole table only where there is no other way at all."""
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        yield
        cursor.execute("RESET enable_seqscan")


@pytest.mark.usefixtures("years", "unwilling")
def test_no_page_of_the_history_reads_a_whole_table() -> None:
    reader = Client()
    reader.force_login(Membership.objects.filter(role=Role.ADMIN).earliest("pk").user)
    wrong: list[str] = []
    for page, path in history.pages().items():
        with CaptureQueriesContext(connection) as queries:
            assert reader.get(path).status_code == 200, path
        scans = big_scans([query["sql"] for query in queries.captured_queries])
        wrong += [f"{page}: reads the whole of {table}" for table in scans]
    assert wrong == []


@pytest.mark.usefixtures("years")
def test_charts_read_one_index_and_no_table() -> None:
    admin = Membership.objects.filter(role=Role.ADMIN).earliest("pk")
    member = member_in(admin.user, admin.team_id)
    assert member is not None
    shown = span(Range.QUARTER, timezone.now(), UTC)
    for narrow in (Narrow(), Narrow(Server.objects.get(name="build").pk, "build_image")):
        for chart in (ended, broken, people_paces):
            with CaptureQueriesContext(connection) as queries:
                chart(member, shown, narrow)
            for query in queries.captured_queries:
                plan = _plan(query["sql"])
                assert "Index Only Scan" in plan, plan
                assert plan.count(" Scan ") == 2, plan  # the other one is that of the buckets


def _plan(statement: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}")
        return "\n".join(row[0] for row in cursor.fetchall())


@pytest.mark.usefixtures("unwilling")
def test_a_statement_that_no_index_serves_is_named() -> None:
    with CaptureQueriesContext(connection) as queries:
        Operation.objects.filter(reason="because").count()
    (query,) = queries.captured_queries
    assert big_scans([query["sql"]]) == ["tasks_monitor_operation"]


@pytest.mark.usefixtures("years")
def test_what_is_made_up_is_never_mixed_with_what_is_true() -> None:
    with pytest.raises(filling.Refused):
        fill(SIZE, timezone.now(), lambda *_: None)


def test_no_day_is_kept_that_was_counted_while_it_was_made() -> None:
    def keep(*_: int) -> None:
        days.keep(timezone.now())

    fill(SIZE, timezone.now(), keep)
    assert not ChartDay.objects.exists()
