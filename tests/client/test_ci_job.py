"""A CI job with a real desk: it starts a deployment by token, waits for a person, gets the outcome.

Killed in the middle and run again with the same key, it is one deployment.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcpdesk.accounts.models import Role, Team
from mcpdesk.client import Desk
from mcpdesk.client.call import Exit
from tasks_monitor.models import Attempt, Operation
from tests.api.calling import Caller, person, service
from tests.browser.database import throw_away
from tests.browser.whole_desk import WholeDesk
from tests.factories import PolicyRuleFactory, ServerFactory, TeamFactory
from tests.simulator.process import SimulatorProcess

pytestmark = pytest.mark.chaos

ASK = {"audience": "approvers", "four_eyes": True, "quorum": 1, "at_deadline": "expire"}


@pytest.fixture(scope="module")
def desk(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WholeDesk]:
    with throw_away(django_db_blocker) as url:
        whole = WholeDesk(tmp_path_factory.mktemp("desk"), {"DATABASE_URL": url})
        try:
            whole.start()
            yield whole
        finally:
            whole.kill()


@pytest.fixture
def team(desk: WholeDesk, simulator_process: SimulatorProcess) -> Team:
    """A team that asks two eyes more before anything runs, and the simulator as its server."""
    team: Team = TeamFactory()
    PolicyRuleFactory(team=team, effect="ask", ask=ASK)
    ServerFactory(team=team, name="builds", url=simulator_process.url, allow_private=True)
    return team


class Job:
    """`./desk call`, as a CI runs it."""

    def __init__(self, desk: WholeDesk, by: Caller, *arguments: str) -> None:
        command = [sys.executable, "-m", "mcpdesk.client.call", "builds", *arguments]
        self.process = subprocess.Popen(
            [*command, "--wait", "--url", desk.url, "--key", "release-43"],
            env={**os.environ, "MCPDESK_TOKEN": by.secret},
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_it_waits(self) -> str:
        """The link that it prints while it waits for people."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if "/inbox/" in line:
                return line.rsplit(" ", 1)[1].strip()
        raise AssertionError("it never said whom it waits for")

    def killed(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=30)

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def _decide(desk: WholeDesk, by: Caller, link: str, choice: str, **more: Any) -> None:
    """What the link leads to, decided through the API by a person's token."""
    item = link.strip("/").rsplit("/", 1)[1]
    with Desk(desk.url, by.secret) as api:
        assert item in [one.id for one in api.approvals()]
        assert api.decide(api.approval(item), choice, **more).decision == choice


def test_a_job_that_is_killed_and_run_again_is_one_deployment(desk: WholeDesk, team: Team) -> None:
    bot, approver = service(team), person(team, Role.APPROVER)
    call = ("search_orders", "--arg", "query=Lindgren", "--reason", "release 43")
    first = Job(desk, bot, *call)
    link = first.until_it_waits()
    first.killed()
    again = Job(desk, bot, *call)
    assert again.until_it_waits() == link
    _decide(desk, approver, link, "approve")
    status, out, err = again.ended()
    assert status == Exit.DONE, err
    assert "content" in json.loads(out)
    operation = Operation.objects.get(team=team)
    assert (operation.started_by, operation.token_id) == (None, bot.token.pk)
    assert Attempt.objects.filter(operation=operation).count() == 1
    # and once more, long after
    assert Job(desk, bot, *call).ended()[:2] == (Exit.DONE, out)
    assert Operation.objects.filter(team=team).count() == 1


def test_a_job_that_somebody_denies_says_so(desk: WholeDesk, team: Team) -> None:
    job = Job(desk, service(team), "search_orders", "--arg", "query=x")
    link = job.until_it_waits()
    _decide(desk, person(team, Role.APPROVER), link, "deny", reason="not today")
    status, out, err = job.ended()
    assert (status, out) == (Exit.DENIED, "")
    assert Attempt.objects.filter(operation__team=team).count() == 0
    assert "denied" in err.lower()


def test_a_desk_that_is_killed_and_started_again_is_waited_for(desk: WholeDesk, team: Team) -> None:
    job = Job(desk, service(team), "search_orders", "--arg", "query=Lindgren")
    link = job.until_it_waits()
    desk.kill("web")
    desk.start("web")
    _decide(desk, person(team, Role.ADMIN), link, "approve")
    status, _, err = job.ended()
    assert status == Exit.DONE, err
    assert Operation.objects.filter(team=team).count() == 1


async def _held(desk: WholeDesk, by: Caller, operation: str, number: int) -> list[str]:
    """What so many callers are told who wait for one operation at once."""
    limits = httpx.Limits(max_connections=number + 1)
    async with httpx.AsyncClient(base_url=desk.url, headers=by.headers, limits=limits) as http:
        address = f"/api/v1/operations/{operation}?wait=60&until=end"
        waits = [asyncio.create_task(http.get(address, timeout=90)) for _ in range(number)]
        # all are held, and the desk has threads and connections left for others
        await asyncio.sleep(0)
        for _ in range(5):
            assert (await http.get("/api/v1/me", timeout=30)).status_code == 200
        assert not any(wait.done() for wait in waits)
        cancelled = await http.post(f"/api/v1/operations/{operation}/cancel", timeout=30)
        assert cancelled.status_code == 202
        return [(await wait).json()["outcome"] for wait in waits]


def test_sixty_jobs_wait_at_once_without_a_thread_or_a_connection_each(
    desk: WholeDesk, team: Team
) -> None:
    bot = service(team)
    with Desk(desk.url, bot.secret) as api:
        operation = api.start("builds", "search_orders", {"query": "x"}).id
    # more than web has threads for requests, and than its pool has connections (16)
    assert asyncio.run(_held(desk, bot, operation, 60)) == ["cancelled"] * 60
