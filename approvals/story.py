"""The timeline of an item: events as lines, what was one act as one line."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from approvals.models import Vote
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


def lines(events: Iterable[Event], votes: Sequence[Vote], counted_version: int) -> list[Line]:
    """The events as lines, in the order they come in.

    What one person did to an item in one transaction, a vote with what it came to, is one line.
    It says so where it was about a version of the item before `counted_version`; `votes` are those
    on the item; none where one person's word decides it.
    """
    acts = groupby(events, key=lambda event: (event.at, event.actor_id, event.actor_name))
    return [line for _, act in acts for line in _of_act(list(act), votes, counted_version)]


def _of_act(act: list[Event], votes: Sequence[Vote], counted_version: int) -> Iterator[Line]:
    vote = next((event for event in act if event.kind in _VOTES), None)
    for event in act:
        if vote is None or event.kind not in _FOLDED:
            yield Line(event.at, event.kind, event.sentence)
        elif event is vote:
            earlier = _version(vote, votes) < counted_version
            note = " (before it changed: this counts no more)" if earlier else ""
            yield Line(event.at, event.kind, f"{_sentence(vote, act)}{note}")


def _version(voted: Event, votes: Sequence[Vote]) -> int:
    """The version of the item that somebody spoke of: a person's later word on the same version
    took the row of the earlier one.
    """
    later = [one for one in votes if one.user_id == voted.actor_id and one.at >= voted.at]
    return min((vote.version for vote in later), default=sys.maxsize)


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
