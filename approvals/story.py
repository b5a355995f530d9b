"""The timeline of an item: events as lines, what was one act as one line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from approvals.outcomes import SAID, what_was_said
from mcpdesk.audit.models import Event

_VOTES = ("approval.voted", "approval.voted_for")
_FOLDED = (*_VOTES, "approval.decided", "answer.saved", "gate.progress", "approval.progress")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the timeline; `kind` is that of the event it begins with."""

    at: datetime
    kind: str
    sentence: str


def lines(events: Iterable[Event]) -> list[Line]:
    """The events as lines, in the order they come in.

    What one person did to an item in one transaction, a vote with what it came to, is one line.
    """
    acts = groupby(events, key=lambda event: (event.at, event.actor_id, event.actor_name))
    return [line for _, act in acts for line in _of_act(list(act))]


def _of_act(act: list[Event]) -> Iterator[Line]:
    vote = next((event for event in act if event.kind in _VOTES), None)
    for event in act:
        if vote is None or event.kind not in _FOLDED:
            yield Line(event.at, event.kind, event.sentence)
        elif event is vote:
            yield Line(event.at, event.kind, _sentence(vote, act))


def _sentence(vote: Event, act: list[Event]) -> str:
    said = SAID[what_was_said(vote.data["choice"])]
    for_whom = f" for {vote.data['person']}" if vote.kind == "approval.voted_for" else ""
    kinds = {event.kind: event for event in act}
    if "approval.decided" in kinds:
        came_to = ", and so it was decided"
    else:
        progress = kinds.get("gate.progress") or kinds.get("approval.progress")
        came_to = ": {count} of {needed}".format_map(progress.data) if progress else ""
    return f"{vote.actor_name} {said} it{for_whom}{came_to}"
