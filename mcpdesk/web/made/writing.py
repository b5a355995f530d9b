"""Puts made-up operations into lines: the operation, its history and payload, its items."""

import random
from functools import lru_cache
from uuid import UUID

from approvals.models import Approval, ApprovalState, Audience, Choice, Kind, Shape, Verdict, Vote
from mcpdesk import blind
from mcpdesk.encryption import encrypt_json
from mcpdesk.web.made.events import Events
from mcpdesk.web.made.sheets import Sheet
from mcpdesk.web.made.story import Story
from mcpdesk.web.made.team import Cast
from tasks_monitor.models import (
    Answerers,
    HistoryEntry,
    InputRequest,
    InputRequestSource,
    InputRequestState,
    Operation,
    Payload,
)
from tasks_monitor.states import State

_ASK = {"audience": "approvers", "quorum": 1, "four_eyes": True}
_SNAPSHOT = {"rule": "Ask for everything", "number": 1, "failed": False, "ask": _ASK}
_PAYLOADS = 32  # so many different ones are encrypted, and used again and again

_OPERATION = (
    "id server_id tool_name state is_error started_by_id reason created_at updated_at finished_at"
    " explanation"
)
_HISTORY = (
    "operation_id server_id tool_name state is_error started_by_id created_at state_since"
    " finished_at people_ms server_ms took_ms words"
)
_QUESTION = "id operation_id params state opened_at closed_at"
_ITEM = (
    "id operation_id input_request_id kind shape state server_id tool_name started_by_id"
    " created_at policy decision decided_at decided_by_id closed_at words"
)
_ASKED = {
    "source": InputRequestSource.MRTR,
    "round": 1,
    "key": "confirm",
    "key_hash": "0" * 64,
    "method": "elicitation/create",
    "fingerprint": "0" * 64,
    "taken_version": 1,
}


class Book:
    """All the lines, written in batches; the same `chance` makes the same history again."""

    def __init__(self, cast: Cast, chance: random.Random, events: Events) -> None:
        self._team_id, self._chance, self._events = cast.team.pk, chance, events
        self._numbers = 0
        team = cast.team
        operation = Operation(team=team, questions_to=Answerers.APPROVERS)
        self._operations = Sheet(operation, _OPERATION.split())
        self._history = Sheet(HistoryEntry(team=team), _HISTORY.split())
        self._payloads = Sheet(Payload(), ["operation_id", "arguments", "result"])
        self._questions = Sheet(InputRequest(**_ASKED), _QUESTION.split())
        item = Approval(team=team, audience=Audience.APPROVERS, four_eyes=True)
        self._items = Sheet(item, _ITEM.split())
        self._votes = Sheet(Vote(version=1), ["approval_id", "user_id", "choice", "at"])
        self._results = [encrypt_json(_result(number)) for number in range(_PAYLOADS)]
        self._arguments = [encrypt_json({"project": f"p{n}", "n": n}) for n in range(_PAYLOADS)]

    @property
    def sheets(self) -> list[Sheet]:
        return [
            *(self._operations, self._history, self._payloads, self._questions, self._items),
            *(self._votes, self._events.sheet),
        ]

    def take(self, story: Story) -> None:
        """The lines of one operation."""
        gate = self._new_id() if story.has_gate else None
        asked = self._new_id() if story.question else None
        words = self._words(story)
        self._operation(story, words)
        if gate:
            self._item(story, gate, words, None)
        if asked:
            self._numbers += 1
            self._ask(story)
            self._item(story, asked, words, self._numbers)
        self._events.tell(story, gate, asked)

    def write(self) -> int:
        """Copy what was taken into the database; returns the number of events."""
        return [sheet.write() for sheet in self.sheets][-1]

    def _new_id(self) -> UUID:
        return UUID(int=self._chance.getrandbits(128), version=4)

    def _words(self, story: Story) -> list[int]:
        team_id = self._team_id
        plain = _open(team_id, f"{story.tool} {story.server.name} {story.reason}")
        found = [*plain, *blind.open_numbers(team_id, str(story.pk))]
        if story.question:
            found += _sealed(team_id, story.question)
        if (story.has_gate or story.question) and not story.waits:
            found.append(_decided(team_id, story.decider.pk))
            found += _sealed(team_id, story.why)
        return list(dict.fromkeys(found))

    def _operation(self, story: Story, words: list[int]) -> None:
        starter = story.starter.pk if story.starter else None
        same = (story.server.pk, story.tool, story.state.value, story.is_error, starter)
        ended, why = story.ended, "" if story.waits else _WHY_ENDED.get(story.state, "")
        times = (story.began, story.moved, ended)
        self._operations.add(story.pk, *same, story.reason, *times, why)
        spent = (story.people_ms, story.server_ms)
        took = sum(spent) if ended else None
        self._history.add(story.pk, *same, *times, *spent, took, words)
        has_result = story.state == State.COMPLETED
        result = self._chance.choice(self._results) if has_result else None
        self._payloads.add(story.pk, self._chance.choice(self._arguments), result)

    def _ask(self, story: Story) -> None:
        state = InputRequestState.OPEN if story.waits else InputRequestState.ANSWERED
        closed = None if story.waits else story.decided
        params = _question(story.question)
        self._questions.add(self._numbers, story.pk, params, state.value, story.began, closed)

    def _item(self, story: Story, pk: UUID, words: list[int], asked: int | None) -> None:
        is_open = story.waits and (asked is not None or story.state == State.AWAITING_APPROVAL)
        kind, shape = (Kind.ANSWER, Shape.CONFIRM) if asked else (Kind.GATE, Shape.RUN)
        decision = "" if is_open else _decision(story, kind)
        state = ApprovalState.OPEN if is_open else ApprovalState.DECIDED
        at, by = (None, None) if is_open else (story.decided, story.decider.pk)
        starter = story.starter.pk if story.starter else None
        self._items.add(
            *(pk, story.pk, asked, kind.value, shape.value, state.value),
            *(story.server.pk, story.tool, starter, story.began),
            *(None if asked else _SNAPSHOT, decision, at, by, at),
            [*words, *blind.open_numbers(self._team_id, str(pk))],
        )
        if not is_open:
            self._votes.add(pk, by, decision, at)


_WHY_ENDED = {
    State.COMPLETED: "The task completed",
    State.FAILED: "The task failed with a protocol error",
    State.CANCELLED: "The server reported it as cancelled",
    State.DENIED: "Denied by the team",
    State.EXPIRED: "The desk's own deadline passed",
    State.LOST: "The server says twice that it does not know the task",
    State.UNKNOWN: "The worker that sent the call did not come back",
    State.STUCK: "The server waits for input and asks nothing new",
}


def _decision(story: Story, kind: Kind) -> str:
    denied = story.state == State.DENIED
    if kind == Kind.GATE:
        return str((Verdict.DENY if denied else Verdict.APPROVE).value)
    return str((Choice.DECLINE if story.state == State.CANCELLED else Choice.ACCEPT).value)


def _result(number: int) -> dict[str, object]:
    text = f"Done: {number} rows, in {number * 3} s"
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"rows": number}}


@lru_cache(maxsize=1000)
def _question(message: str) -> bytes:
    schema = {"type": "object", "properties": {"go": {"type": "boolean"}}}
    return encrypt_json({"mode": "form", "message": message, "requestedSchema": schema})


@lru_cache(maxsize=100_000)
def _open(team_id: int, text: str) -> list[int]:
    return blind.open_numbers(team_id, text)


@lru_cache(maxsize=10_000)
def _sealed(team_id: int, text: str) -> list[int]:
    return blind.sealed_numbers(team_id, text)


@lru_cache(maxsize=1000)
def _decided(team_id: int, user_id: int) -> int:
    return blind.mark(team_id, blind.DECIDED, user_id)
