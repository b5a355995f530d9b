"""One Chromium, and the whole desk on a database of its own, for all tests in this folder."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from playwright.sync_api import Browser, BrowserContext

from mcpdesk.accounts.models import Membership
from tests.browser.database import throw_away
from tests.browser.people import Consoles, Crew, Person, crew
from tests.browser.whole_desk import PARTS, WholeDesk
from tests.chromium import chromium
from tests.conftest import free_port
from tests.peers.conftest import fastmcp_peer, sdk_peer  # noqa: F401 - fixtures
from tests.simulator.process import SimulatorProcess

Employ = Callable[[Membership], Person]


@pytest.fixture(scope="package")
def chromium_browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package")
def database_url(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    with throw_away(django_db_blocker) as url:
        yield url


@pytest.fixture(scope="package")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The Redis of `./desk test`, or one of our own. In CI it may not be missing."""
    given = os.environ.get("MCPDESK_TEST_REDIS_URL")
    if given:
        yield f"{given.rstrip('/')}/3"
        return
    program = shutil.which("redis-server")
    if program is None:
        assert not os.environ.get("CI"), "redis-server is missing"
        pytest.skip("redis-server is not installed")
    with _own_redis(program, tmp_path_factory.mktemp("redis")) as url:
        yield url


@contextmanager
def _own_redis(program: str, folder: Path) -> Iterator[str]:
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program, *options], stdout=log)
    try:
        client = redis.Redis(
            port=port, retry=redis.retry.Retry(redis.backoff.ConstantBackoff(0.1), 50)
        )
        client.ping()
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def _running(folder: Path, environment: dict[str, str]) -> Iterator[WholeDesk]:
    whole = WholeDesk(folder, environment)
    try:
        whole.start()
        yield whole
    finally:
        whole.kill()


@pytest.fixture(scope="package")
def desk(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeDesk]:
    """The embedded configuration: file broker, NOTIFY as channel layer."""
    with _running(tmp_path_factory.mktemp("desk"), {"DATABASE_URL": database_url}) as whole:
        yield whole


@pytest.fixture
def redis_desk(
    desk: WholeDesk, database_url: str, redis_url: str, tmp_path: Path
) -> Iterator[WholeDesk]:
    """The second configuration, on the same database; the first one rests meanwhile."""
    desk.kill("worker", "clock")
    environment = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    with _running(tmp_path, environment) as whole:
        yield whole
    desk.start("worker", "clock")


@pytest.fixture
def consoles() -> Iterator[Consoles]:
    """At the end no page has said anything to its console."""
    consoles = Consoles()
    yield consoles
    assert consoles.said == []


@pytest.fixture
def employ_at(
    chromium_browser: Browser, consoles: Consoles
) -> Iterator[Callable[[WholeDesk], Employ]]:
    """employ_at(desk)(membership) is that person with a browser on that desk."""
    contexts: list[BrowserContext] = []

    def at(whole: WholeDesk) -> Employ:
        def employ(membership: Membership) -> Person:
            user, team = membership.user, membership.team
            return Person(user, team, chromium_browser, whole.url, consoles, contexts)

        return employ

    yield at
    for context in contexts:
        context.close()


@pytest.fixture
def team(desk: WholeDesk, employ_at: Callable[[WholeDesk], Employ]) -> Crew:
    """A team on the embedded desk."""
    return crew("Platform", employ_at(desk))


@pytest.fixture
def server(team: Crew, simulator_process: SimulatorProcess) -> int:
    """The simulator as a server of that team."""
    return team.add_server(simulator_process.url, name="workshop")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A failure comes with the last words of the desk's processes."""
    outcome: Any = yield
    report = outcome.get_result()
    whole = getattr(item, "funcargs", {}).get("desk")
    if report.failed and isinstance(whole, WholeDesk):
        report.sections += [(f"log of {name}", whole.last_words(name)) for name in PARTS]
