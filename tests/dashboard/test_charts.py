"""What charts count and measure: of this team, in this range, exactly."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.models import Approval
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.web.days import figures
from tasks_monitor.charts import Narrow, Outcome
from tasks_monitor.models import HistoryEntry, Server
from tasks_monitor.spans import Range, span
from tasks_monitor.states import TERMINAL, State
from tests.factories import NOW, ApprovalFactory, OperationFactory, ServerFactory, UserFactory

pytestmark = pytest.mark.django_db

DAY = span(Range.DAY, NOW + timedelta(minutes=30), UTC)
MINUTE = timedelta(minutes=1)
ANY = Narrow()


@pytest.fixture
def server() -> Server:
    return ServerFactory()


@pytest.fixture
def member(server: Server) -> Member:
    return Member(UserFactory(), server.team, Role.VIEWER)


def ended(server: Server, state: State, at: datetime = NOW, **columns: Any) -> None:
    """An operation that ended then, as the engine writes its line in the history."""
    server_ms = columns.pop("server_ms", 0)
    operation = OperationFactory(server=server, state=state, finished_at=at, **columns)
    HistoryEntry.objects.filter(pk=operation.pk).update(state_since=at, server_ms=server_ms)


def broken(server: Server, state: State, at: datetime = NOW) -> None:
    operation = OperationFactory(server=server, state=state)
    HistoryEntry.objects.filter(pk=operation.pk).update(state_since=at)


def decided(server: Server, minutes: float, **columns: Any) -> None:
    """An item about which somebody decided so many minutes after it was made, at NOW."""
    operation = OperationFactory(server=server, **columns)
    item = ApprovalFactory(input_request__operation=operation, operation=operation)
    Approval.objects.filter(pk=item.pk).update(
        state="decided",
        decision="accept",
        created_at=NOW - minutes * MINUTE,
        decided_at=NOW,
        closed_at=NOW,
        decided_by=operation.started_by,
    )


def test_every_end_is_counted_as_what_it_was(member: Member, server: Server) -> None:
    for state in TERMINAL:
        ended(server, state)
    ended(server, State.COMPLETED, is_error=True)
    ended(server, State.FAILED, is_error=True)
    for state in (State.LOST, State.UNKNOWN, State.STUCK):
        broken(server, state)
    OperationFactory(server=server, state=State.WORKING)
    counts = figures(member, DAY, ANY).outcomes.counts
    assert counts == {23: {**dict.fromkeys(Outcome, 1), Outcome.FAILED: 2, Outcome.BROKEN: 3}}


def test_each_end_stands_in_the_bucket_of_its_time(member: Member, server: Server) -> None:
    for at in (DAY.begin - MINUTE, DAY.begin, DAY.begin + 59 * MINUTE, DAY.edges[1], DAY.end):
        ended(server, State.COMPLETED, at)
    found = figures(member, DAY, ANY).outcomes.counts
    assert {number: counts.total() for number, counts in found.items()} == {0: 2, 1: 1}


def test_nothing_of_another_team_is_counted(member: Member) -> None:
    other = ServerFactory()
    ended(other, State.COMPLETED, server_ms=5)
    broken(other, State.LOST)
    decided(other, 3)
    assert figures(member, DAY, ANY).outcomes.counts == {}
    assert figures(member, DAY, ANY).server.paces == {}
    assert figures(member, DAY, ANY).people.paces == {}


def test_the_median_and_the_90th_percentile_are_exact(member: Member, server: Server) -> None:
    for ms in range(100, 1_100, 100):
        ended(server, State.COMPLETED, server_ms=ms)
    pace = figures(member, DAY, ANY).server.paces[23]
    assert (pace.count, pace.median_ms, pace.ninetieth_ms) == (10, 550, 910)


def test_what_never_reached_a_server_does_not_count_as_fast(member: Member, server: Server) -> None:
    ended(server, State.DENIED)
    ended(server, State.COMPLETED, server_ms=7)
    assert figures(member, DAY, ANY).server.paces[23].count == 1


def test_people_are_measured_from_the_question_to_the_decision(
    member: Member, server: Server
) -> None:
    for minutes in (1, 2, 9):
        decided(server, minutes)
    ApprovalFactory(input_request__operation__server=server)
    pace = figures(member, DAY, ANY).people.paces[23]
    assert (pace.count, pace.median_ms) == (3, 120_000)


@pytest.mark.parametrize("tool", ["", "deploy_project"])
def test_a_server_and_a_tool_narrow_every_chart(member: Member, server: Server, tool: str) -> None:
    other = ServerFactory(team=server.team)
    for one in (server, other):
        ended(one, State.COMPLETED, server_ms=5)
        ended(one, State.COMPLETED, server_ms=5, tool_name="another")
        decided(one, 1)
        decided(one, 1, tool_name="another")
    narrow = Narrow(server.pk, tool)
    expected = 1 if tool else 2
    assert figures(member, DAY, narrow).outcomes.totals.total() == expected
    assert figures(member, DAY, narrow).server.paces[23].count == expected
    assert figures(member, DAY, narrow).people.paces[23].count == expected
