"""The event streams that are open on one instance."""

import asyncio
from dataclasses import dataclass, field

LIST_CHANGES = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
}
"""Notification method by the filter that asks for it."""


@dataclass(slots=True)
class Hub:
    """The open streams of one instance, each with the list changes that it has not sent yet."""

    queues: list[asyncio.Queue[str]] = field(default_factory=list)

    def announce(self, kind: str) -> None:
        """Tell every open stream of a list change; `kind` is a key of LIST_CHANGES."""
        for queue in self.queues:
            queue.put_nowait(kind)
