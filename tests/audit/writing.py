"""Events whose transactions take their time."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from django.db import connection, transaction

from mcpdesk.audit.log import DESK, record
from tests.factories import NOW

WITHIN_S = 10


@contextmanager
def still_being_written(team_id: int) -> Iterator[int]:
    """The number of an event that nobody can see yet: its transaction commits at the end of the
    block. The test has to have transactions of its own.
    """
    numbers: list[int] = []
    wrote, may_commit = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with transaction.atomic():
                event = record("server.reachable", team_id=team_id, actor=DESK, now=NOW, server="s")
                numbers.append(event.pk)
                wrote.set()
                may_commit.wait(WITHIN_S)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        try:
            assert wrote.wait(WITHIN_S)
            yield numbers[0]
        finally:
            may_commit.set()
            written.result()
