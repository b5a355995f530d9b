"""Lanes: one request at a time each; what is behind trouble or a slow answer is given back."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from mcpdesk.mcp.reader import ErrorReply, ResultReply
from tasks_monitor.engine import network as module
from tasks_monitor.engine.network import Network, Result
from tasks_monitor.engine.work import Broke, Done, Left
from tasks_monitor.models import Operation
from tasks_monitor.session import Step
from tasks_monitor.states import State
from tasks_monitor.transport import Endpoint, Exchange
from tests.engine.desk import Desk
from tests.factories import NOW

WELL = ResultReply({}, ())
REFUSED = ErrorReply(-32603, "no", None, 200, ())


@dataclass(frozen=True, slots=True)
class _Lane:
    lease_token: UUID = field(default_factory=uuid4)


@dataclass(slots=True)
class _Work:
    """A work whose answer is what the test says, once it lets it come."""

    claim: Any
    answer: Any = WELL
    begun: list["_Work"] = field(default_factory=list)
    may_end: asyncio.Event | None = None

    async def exchange(self, session: Any) -> Step[Any]:
        self.begun.append(self)
        if self.may_end is not None:
            await self.may_end.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return Step(None, Exchange(self.answer, None, None, NOW, None))


ENDPOINT = Endpoint(1, "http://server.test/mcp", (), 1.0, False)


@pytest.fixture
def network() -> Iterator[Network]:
    network = Network()
    yield network
    network.close()


def all_of(network: Network) -> list[Result]:
    results: list[Result] = []
    while network.in_flight:
        results += network.collect(5)
    return results


def run(network: Network, works: list[_Work]) -> list[Result]:
    network.submit([(work, ENDPOINT) for work in works])  # type: ignore[misc]
    return all_of(network)


def test_works_of_one_lane_are_made_in_their_order(network: Network) -> None:
    lane, begun = _Lane(), []  # type: ignore[var-annotated]
    works = [_Work(lane, begun=begun) for _ in range(5)]

    results = run(network, works)

    assert begun == works
    assert [type(result) for result in results] == [Done] * 5


def test_a_lane_has_one_request_in_flight_and_lanes_go_side_by_side(network: Network) -> None:
    begun: list[_Work] = []
    first, second = _Lane(), _Lane()
    end = asyncio.Event()
    works = [_Work(lane, begun=begun, may_end=end) for lane in (first, first, second, second)]
    network.submit([(work, ENDPOINT) for work in works])  # type: ignore[misc]

    assert network.collect(0.1) == []
    assert [work.claim for work in begun] == [first, second]

    network._loop.call_soon_threadsafe(end.set)
    assert len(all_of(network)) == 4


@pytest.mark.parametrize("answer", [REFUSED, None, ValueError("ours")])
def test_what_is_behind_trouble_is_given_back_and_never_sent(
    network: Network, answer: object
) -> None:
    lane, begun = _Lane(), []  # type: ignore[var-annotated]
    works = [_Work(lane, begun=begun), _Work(lane, answer, begun), *[_Work(lane, begun=begun)] * 3]

    results = run(network, works)

    assert begun == works[:2]
    kinds = [type(result) for result in results]
    assert kinds == [Done, Broke if isinstance(answer, Exception) else Done, Left, Left, Left]


def test_what_waits_too_long_behind_a_slow_answer_is_given_back_before_it_comes(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LANE_S", 0.01)
    lane, end = _Lane(), asyncio.Event()
    slow = _Work(lane, may_end=end)
    network.submit([(work, ENDPOINT) for work in (slow, _Work(lane), _Work(lane))])  # type: ignore[misc]

    left = network.collect(5)
    while len(left) < 2:
        left += network.collect(5)
    assert [type(result) for result in left] == [Left, Left]
    assert network.in_flight == 1

    network._loop.call_soon_threadsafe(end.set)
    assert [type(result) for result in all_of(network)] == [Done]


@pytest.mark.django_db
def test_a_server_that_asks_for_a_pause_is_sent_at_most_what_was_under_way(desk: Desk) -> None:
    """Many polls are due at once; the first answers say 429, and none of the others leaves."""
    desk.server.max_in_flight = 2
    desk.server.save()
    operations = [desk.start("run_task", duration_ms=60_000, poll_ms=500) for _ in range(12)]
    desk.drain()
    assert set(_states(operations)) == {State.WORKING}
    desk.simulator.post("/faults", [{"fault": "http-429-seconds", "on": "tasks/get"}])
    before = desk.requests("tasks/get")
    desk.clock.now = timezone.now() + timedelta(hours=1)
    desk.drain()

    assert 1 <= desk.requests("tasks/get") - before <= desk.server.max_in_flight
    idle = Operation.objects.filter(pk__in=_pks(operations), failed_polls=0)
    assert idle.filter(due_at__lte=desk.clock.now, lease_token=None).count() >= 10


def _pks(operations: list[Operation]) -> list[UUID]:
    return [operation.pk for operation in operations]


def _states(operations: list[Operation]) -> list[str]:
    return list(Operation.objects.filter(pk__in=_pks(operations)).values_list("state", flat=True))
