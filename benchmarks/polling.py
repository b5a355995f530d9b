"""What a persisted poll costs, against a bare loop of the same HTTP client.

N tasks that stay working live on the simulator, in a process of its own. The engine polls them for
a while (claim, exchange, apply), then the bare loop asks the same server for the same tasks with
the same client, keeps nothing, and reads only the JSON. They take turns, so that a machine that
becomes slower does so for both. Both figures are polls per CPU second of this process; PostgreSQL
and the simulator have CPU time of their own. The ratio is engine / bare.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from unittest import mock

import httpx
import psutil
from django.db import transaction
from django.utils import timezone
from httpx_aiohttp import AiohttpTransport

from mcpdesk.accounts.models import Team
from mcpdesk.audit.log import DESK
from mcpdesk.mcp import requests
from tasks_monitor.engine import drain as drain_module
from tasks_monitor.engine.adopt import adopt
from tasks_monitor.engine.claim import Claim, claim
from tasks_monitor.engine.drain import drain
from tasks_monitor.engine.network import Network
from tasks_monitor.models import Answerers, AuthKind, Era, Operation, Server
from tasks_monitor.states import State

IN_FLIGHT = 8
PAUSE_S = 0.05
#: How often the engine and the bare loop take turns.
TURNS = 3


class NothingMeasured(Exception):
    """The run says nothing about polling; the text says why."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run measured. Lateness: when a poll was claimed, less when it was due (s)."""

    tasks: int
    interval_ms: int
    seconds: float
    engine_polls: int
    engine_polls_per_cpu_s: float
    bare_polls: int
    bare_polls_per_cpu_s: float
    ratio: float
    lateness_p50_s: float
    lateness_p90_s: float
    lateness_p99_s: float
    lateness_max_s: float
    memory_before_mib: float
    memory_after_mib: float


@dataclass(frozen=True, slots=True)
class Spent:
    """So many polls, and the CPU time of this process that they took (s)."""

    polls: int = 0
    cpu_s: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.polls + other.polls, self.cpu_s + other.cpu_s)

    @property
    def rate(self) -> float:
        """Polls per CPU second."""
        return self.polls / self.cpu_s


def run(url: str, tasks: int, interval_ms: int, seconds: float) -> Figures:
    """Measure. `url` is the simulator's endpoint; the database is the configured one."""
    task_ids = asyncio.run(_make_tasks(url, tasks, interval_ms))
    server = _follow(url, task_ids)
    network = Network()
    _drain_for(network, lambda: not _unpolled(server), 120.0)
    memory_before = _memory_mib()
    engine, bare = Spent(), Spent()
    lateness: list[float] = []
    for _ in range(TURNS):
        engine += _run_engine(server, network, interval_ms, seconds / TURNS, lateness)
        bare += asyncio.run(_run_bare(url, task_ids, max(seconds / 2, 3.0) / TURNS))
    memory_after = _memory_mib()
    network.close()
    server.refresh_from_db()
    _check(server, engine.polls)
    cuts = statistics.quantiles(lateness, n=100) if len(lateness) > 1 else [0.0] * 99
    return Figures(
        tasks=tasks,
        interval_ms=interval_ms,
        seconds=seconds,
        engine_polls=engine.polls,
        engine_polls_per_cpu_s=round(engine.rate, 1),
        bare_polls=bare.polls,
        bare_polls_per_cpu_s=round(bare.rate, 1),
        ratio=round(engine.rate / bare.rate, 3),
        lateness_p50_s=round(cuts[49], 3),
        lateness_p90_s=round(cuts[89], 3),
        lateness_p99_s=round(cuts[98], 3),
        lateness_max_s=round(max(lateness, default=0.0), 3),
        memory_before_mib=round(memory_before, 1),
        memory_after_mib=round(memory_after, 1),
    )


def _check(server: Server, polls: int) -> None:
    """Raise NothingMeasured where a figure would say something else than what it is called."""
    failed = Operation.objects.filter(server=server, failed_polls__gt=0).count()
    if failed:
        raise NothingMeasured(f"{failed} tasks could not be polled: {server.last_problem}")
    if not polls:
        raise NothingMeasured("No task was due in this time: give more --seconds.")


def report(figures: Figures, as_json: bool) -> str:
    """The figures for people, or as one JSON object."""
    if as_json:
        return json.dumps(asdict(figures))
    return (
        f"{figures.tasks} working tasks, asked for every {figures.interval_ms} ms, "
        f"{figures.seconds:g} s\n"
        f"engine     {figures.engine_polls:7d} persisted polls  "
        f"{figures.engine_polls_per_cpu_s:8.1f} per CPU second\n"
        f"bare loop  {figures.bare_polls:7d} polls            "
        f"{figures.bare_polls_per_cpu_s:8.1f} per CPU second\n"
        f"ratio      {figures.ratio:.3f} (engine / bare loop)\n"
        f"lateness   p50 {figures.lateness_p50_s:.3f} s, p90 {figures.lateness_p90_s:.3f} s, "
        f"p99 {figures.lateness_p99_s:.3f} s, max {figures.lateness_max_s:.3f} s\n"
        f"memory     {figures.memory_before_mib:.1f} MiB before, "
        f"{figures.memory_after_mib:.1f} MiB after\n"
    )


def bare_client() -> httpx.AsyncClient:
    """The client that the transport stands on, with nothing around it."""
    return httpx.AsyncClient(transport=AiohttpTransport(), timeout=30, trust_env=False)


async def _make_tasks(url: str, count: int, interval_ms: int) -> list[str]:
    """Tasks that work for ever, made by the simulator's `bench` tool."""
    slots = asyncio.Semaphore(IN_FLIGHT)
    async with bare_client() as client:

        async def make(number: int) -> str:
            call = requests.call_tool(number, "bench", {"poll_ms": interval_ms})
            async with slots:
                response = await client.post(url, headers=list(call.headers), content=call.body)
            return str(response.json()["result"]["taskId"])

        return await asyncio.gather(*(make(n) for n in range(1, count + 1)))


@transaction.atomic
def _follow(url: str, task_ids: list[str]) -> Server:
    """Put the tasks under the desk's care, due at once."""
    now = timezone.now()
    team, _ = Team.objects.get_or_create(slug="bench", defaults={"name": "Benchmark"})
    Operation.objects.filter(team=team, finished_at=None).update(due_at=None)
    server = Server.objects.create(
        team=team,
        name=f"bench-{time.time_ns()}",
        url=url,
        allow_private=True,
        auth_kind=AuthKind.NONE,
        questions_to=Answerers.APPROVERS,
        era=Era.MODERN,
        max_in_flight=IN_FLIGHT,
        created_at=now,
    )
    for task_id in task_ids:
        adopt(
            team_id=team.pk,
            server_id=server.pk,
            task_id=task_id,
            tool_name="bench",
            actor=DESK,
            now=now,
        )
    return server


def _run_engine(
    server: Server, network: Network, interval_ms: int, seconds: float, lateness: list[float]
) -> Spent:
    """What so many seconds of the engine came to; the lateness (s) of each poll is added."""

    def timed_claim(now: Any, limit: int) -> list[Claim]:
        claims = claim(now, limit)
        lateness.extend((now - c.due_at).total_seconds() for c in claims)
        return claims

    _spread(server, interval_ms)
    before, cpu = _polls(server), time.process_time()
    with mock.patch.object(drain_module, "claim", timed_claim):
        _drain_for(network, lambda: False, seconds)
    spent = time.process_time() - cpu
    Operation.objects.filter(server=server).update(due_at=None)
    return Spent(_polls(server) - before, spent)


def _spread(server: Server, interval_ms: int) -> None:
    """Let the tasks come due all over one interval, as tasks do that were begun one by one."""
    operations = list(Operation.objects.filter(server=server).only("pk"))
    now = timezone.now()
    for number, operation in enumerate(operations):
        operation.due_at = now + timedelta(milliseconds=interval_ms * number / len(operations))
    Operation.objects.bulk_update(operations, ["due_at"], batch_size=1000)


def _drain_for(network: Network, enough: Callable[[], bool], seconds: float) -> None:
    """Drain again and again, as a worker does that is rung every little while."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not enough():
        drain(network, timezone.now, min(left, 5.0))
        time.sleep(PAUSE_S)


def _unpolled(server: Server) -> bool:
    return Operation.objects.filter(server=server, state=State.WORKING, polls=0).exists()


def _polls(server: Server) -> int:
    return sum(Operation.objects.filter(server=server).values_list("polls", flat=True))


async def _run_bare(url: str, task_ids: list[str], seconds: float) -> Spent:
    """What the client alone comes to, with as many requests at a time as the engine makes."""
    done = 0
    until = time.monotonic() + seconds
    async with bare_client() as client:

        async def ask(first: int) -> None:
            nonlocal done
            number = first
            while time.monotonic() < until:
                request = requests.get_task(number, task_ids[number % len(task_ids)])
                response = await client.post(
                    url, headers=list(request.headers), content=request.body
                )
                response.json()
                done += 1
                number += IN_FLIGHT

        started = time.process_time()
        await asyncio.gather(*(ask(n) for n in range(IN_FLIGHT)))
        return Spent(done, time.process_time() - started)


def _memory_mib() -> float:
    return psutil.Process().memory_info().rss / 2**20
