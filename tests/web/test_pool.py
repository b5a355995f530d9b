"""The first page after a restart of PostgreSQL: at once, and whole."""

import threading
import time
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from mcpdesk import database
from mcpdesk.accounts.models import Membership
from tests import databases
from tests.factories import MembershipFactory
from tests.web.browsing import signed_in


@pytest.fixture
def member(transactional_db: None) -> Membership:
    return MembershipFactory()


def _in_a_thread(work: Any) -> None:
    """With a connection of its own, which goes back to the pool."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)


def test_the_first_page_after_a_restart_waits_for_no_dead_connection(member: Membership) -> None:
    client: Client = signed_in(member)
    found: list[Any] = []

    def ask() -> None:
        began = time.monotonic()
        found.extend([client.get("/inbox/").status_code, time.monotonic() - began])

    databases.end_sessions(idle=6)
    _in_a_thread(ask)
    status, took_s = found
    assert status == 200
    assert took_s < 1.0, "the pool pauses for a second when it comes upon the first dead one"


def test_idle_connections_are_looked_at_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Any] = []
    pool: Any = type("Pool", (), {"closed": False, "check": lambda self: looks.append(1)})()
    monkeypatch.setattr(database, "connection", type("Connection", (), {"pool": pool})())
    keeper = database.Keeper()
    for monotonic in (100.0, 100.4, 100.9, 101.0, 101.5):
        keeper.look(monotonic)
    assert len(looks) == 2
