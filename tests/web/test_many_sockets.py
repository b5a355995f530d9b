"""500 open pages on the real web process: none of them holds a database connection."""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.test import Client
from websockets.asyncio.client import ClientConnection, connect

from mcpdesk.accounts.models import Membership, Team
from mcpdesk.audit.log import DESK, record
from tests import databases
from tests.conftest import CHECKOUT, free_port
from tests.factories import MembershipFactory

pytestmark = pytest.mark.django_db(transaction=True)

SOCKETS = 500
POOL = 4  # the most connections that the process may open for its requests
LISTENER = 1  # and the one that hears of changes
AT_A_TIME = 50
READY_S, HEARD_S = 30, 60
NAME = "many sockets"


@pytest.fixture
def process_url() -> Iterator[str]:
    """The web process as it is started for people, on the database of the tests."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "mcpdesk.asgi:application", *_options(port)],
        cwd=CHECKOUT,
        env=os.environ
        | {"DATABASE_URL": databases.url(), "DJANGO_SETTINGS_MODULE": "tests.settings"}
        | {"MCPDESK_DB_POOL": str(POOL), "PGAPPNAME": NAME, "REDIS_URL": ""},
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health/", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(10)


def _options(port: int) -> list[str]:
    return ["--port", str(port), "--lifespan", "off", "--log-level", "warning"]


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            assert process.poll() is None, "the web process ended"
            assert time.monotonic() < deadline, "the web process did not start"
            time.sleep(0.1)


def _cookie(member: Membership) -> str:
    client = Client()
    client.force_login(member.user)
    name = django_settings.SESSION_COOKIE_NAME
    return f"{name}={client.cookies[name].value}"


def _connections() -> list[str]:
    """What each connection of the process does, as PostgreSQL sees it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT state FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name IN (%s, 'mcpdesk live')",
            [NAME],
        )
        return [state for (state,) in cursor.fetchall()]


def _change(team: Team, operation_id: UUID) -> None:
    with transaction.atomic():
        record(
            "operation.check_requested",
            team_id=team.pk,
            actor=DESK,
            now=datetime.now(UTC),
            operation_id=operation_id,
        )


async def _open(url: str, cookie: str) -> list[ClientConnection]:
    """All of them, connected and ready to hear."""
    some = asyncio.Semaphore(AT_A_TIME)

    async def one() -> ClientConnection:
        async with some:
            socket = await connect(
                url.replace("http:", "ws:") + "/ws/live/",
                origin=url,  # type: ignore[arg-type]
                additional_headers={"Cookie": cookie},
                ping_interval=None,
                open_timeout=HEARD_S,
            )
            async with asyncio.timeout(HEARD_S):
                assert await _heard(socket) == {"type": "ready"}
            return socket

    return list(await asyncio.gather(*(one() for _ in range(SOCKETS))))


async def _heard(socket: ClientConnection) -> Any:
    return json.loads(await socket.recv())


async def _told(socket: ClientConnection) -> Any:
    """The next change; a socket that was open for long has heard signs of life before."""
    while (message := await _heard(socket)) == {"type": "here"}:
        pass
    return message


async def _all_told(sockets: list[ClientConnection]) -> list[Any]:
    async with asyncio.timeout(HEARD_S):
        return await asyncio.gather(*(_told(socket) for socket in sockets))


async def _hold(url: str, member: Membership, cookie: str) -> list[str]:
    """What the connections do while all sockets are open; each socket then hears of a change."""
    sockets, operation_id = await _open(url, cookie), uuid4()
    during = await asyncio.to_thread(_connections)
    await asyncio.to_thread(_change, member.team, operation_id)
    heard = await _all_told(sockets)
    assert {message["operation"] for message in heard} == {str(operation_id)}
    await asyncio.gather(*(socket.close() for socket in sockets))
    return during


def test_500_sockets_hold_no_connection_each_and_all_hear_of_a_change(process_url: str) -> None:
    member = MembershipFactory(role="operator")
    during = asyncio.run(_hold(process_url, member, _cookie(member)))
    assert 0 < len(during) <= POOL + LISTENER
    assert "idle in transaction" not in during
