"""The log of made-up operations: what a desk would have written of each."""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from mcpdesk.accounts.models import User
from mcpdesk.audit.models import Channel, Event
from mcpdesk.web.made.sheets import Sheet
from mcpdesk.web.made.story import Story
from mcpdesk.web.made.team import Cast
from tasks_monitor.states import State

_COLUMNS = "at kind operation_id approval_id server_id actor_id actor_name channel data"
_DESK = (None, "The desk", Channel.WORKER.value)


class Events:
    """The events of one operation after the other; about `each` of them for an operation."""

    def __init__(self, cast: Cast, each: float) -> None:
        self._each = each
        self._owed = 0.0
        self.sheet = Sheet(Event(team=cast.team), _COLUMNS.split())

    def tell(self, story: Story, gate: UUID | None, asked: UUID | None) -> None:
        """Everything that happened, in its order."""
        self._owed += self._each
        told = self._beginning(story) + self._asking(story, gate, gate=True)
        told += self._asking(story, asked, gate=False) + self._ending(story)
        for number in range(max(0, int(self._owed) - told)):
            at = story.moved - timedelta(milliseconds=story.server_ms // (number + 2))
            self._add(at, "task.changed", story, _DESK, status="working", polls=number + 2)
            told += 1
        self._owed -= told

    def _beginning(self, story: Story) -> int:
        kind = "operation.requested" if story.has_gate else "operation.started"
        said: dict[str, Any] = {"tool": story.tool, "server": story.server.name}
        self._add(story.began, kind, story, _who(story.starter), server_id=True, **said)
        effect = "ask" if story.has_gate else "allow"
        at = story.began
        self._add(at, "gate.evaluated", story, _DESK, effect=effect, rule="Ask for everything")
        return 2

    def _asking(self, story: Story, item: UUID | None, *, gate: bool) -> int:
        if item is None:
            return 0
        audience = "the team's approvers"
        self._add(story.began, "approval.opened", story, _DESK, item=item, audience=audience)
        if story.waits:
            return 1
        denied = story.state == State.DENIED
        choice = ("deny" if denied else "approve") if gate else "accept"
        at, who = story.decided, _who(story.decider)
        self._add(at, "approval.looked", story, who, item=item)
        self._add(at, "approval.voted", story, who, item=item, choice=choice)
        self._add(at, "approval.decided", story, who, item=item, choice=choice)
        return 4

    def _ending(self, story: Story) -> int:
        if story.state in (State.AWAITING_APPROVAL, State.DENIED):
            return 0
        self._add(story.decided, "call.sent", story, _DESK, attempt=1, request_id=1)
        self._add(story.decided, "task.created", story, _DESK, task="0" * 12, status="working")
        if story.state == State.WORKING:
            return 2
        moved: dict[str, Any] = {
            "before": "Running",
            "after": story.state.label,
            "reason": "The task ended",
        }
        self._add(story.moved, "operation.moved", story, _DESK, **moved)
        return 3

    def _add(
        self,
        at: datetime,
        kind: str,
        story: Story,
        who: tuple[int | None, str, str],
        *,
        item: UUID | None = None,
        server_id: bool = False,
        **data: Any,
    ) -> None:
        server = story.server.pk if server_id else None
        self.sheet.add(at, kind, story.pk, item, server, *who, json.dumps(data))


def _who(user: User | None) -> tuple[int | None, str, str]:
    if user is None:
        return None, "A service", Channel.API.value
    return user.pk, user.name, Channel.WEB.value
