"""./desk rebuild_words: write the words anew that operations and approvals are found by."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand

from approvals.rebuild import rebuild
from tasks_monitor.models import HistoryEntry

_BATCH = 200


class Command(BaseCommand):
    help = (
        "Write the words anew that operations and approvals are found by: after a change of "
        "MCPDESK_ENCRYPTION_KEYS, and once for what an older desk wrote. It can be stopped and run "
        "again at any time, and the desk can run meanwhile."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = 0
        for batch in _batches():
            done += rebuild(batch)
            self.stdout.write(f"\r{done:,} operations", ending="")
            self.stdout.flush()
        self.stdout.write(f"\r{done:,} operations: done")


def _batches() -> Iterator[list[UUID]]:
    """All operations by their id, so many at a time."""
    ids = HistoryEntry.objects.order_by("pk").values_list("pk", flat=True)
    batch = list(ids[:_BATCH])
    while batch:
        yield batch
        batch = list(ids.filter(pk__gt=batch[-1])[:_BATCH])
