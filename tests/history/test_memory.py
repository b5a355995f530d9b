"""An export needs no more memory for a long history than for a short one."""

import gc
import tracemalloc

import pytest
from asgiref.sync import async_to_sync

from mcpdesk.accounts.access import Member
from mcpdesk.audit import exports
from mcpdesk.audit.exports import begin, stream
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import ExportFormat
from tasks_monitor.history_export import OPERATIONS
from tasks_monitor.models import HistoryEntry, Operation, Server
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def _fill(server: Server, rows: int) -> None:
    shared = {"team": server.team, "server": server, "tool_name": "t", "created_at": NOW}
    made = [
        Operation(**shared, state="completed", reason="x" * 400, updated_at=NOW)
        for _ in range(rows)
    ]
    Operation.objects.bulk_create(made)
    HistoryEntry.objects.bulk_create(
        HistoryEntry(operation=one, **shared, state="completed", state_since=NOW) for one in made
    )


def _peak(member: Member) -> tuple[int, int]:
    """The most memory (bytes) that a download took, and how long the file was."""

    async def read() -> int:
        length = 0
        async for part in parts:
            length += len(part)
            # rows that know each other wait for the collector, which comes when it likes
            gc.collect()
        return length

    actor = Actor.person(member)
    export = begin(member, OPERATIONS, ExportFormat.NDJSON, {}, actor=actor, now=NOW)
    parts = stream(export, member, OPERATIONS, actor=actor)
    gc.freeze()  # what was there before is not looked through again and again
    tracemalloc.start()
    try:
        length = async_to_sync(read)()
        return tracemalloc.get_traced_memory()[1], length
    finally:
        tracemalloc.stop()
        gc.unfreeze()


def test_ten_times_the_rows_take_no_more_memory(
    auditor: Member, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "BATCH", 50)
    _fill(server, 100)
    _peak(auditor)  # what is made once and kept
    short, short_file = _peak(auditor)
    _fill(server, 900)
    long, long_file = _peak(auditor)
    assert long_file > 9 * short_file
    assert long < 1.5 * short
