"""What the API answers, as values. Fields that are not named here stand in `raw`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Self

Json = Any
_TIMES = frozenset({"created_at", "updated_at", "finished_at", "deadline_at", "closed_at", "at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """Made from an answer: times (UTC) are read, and the rest is taken as it is."""

    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Self:
        names = {one.name for one in fields(cls)} - {"raw"}
        given = {name: _value(name, raw[name]) for name in names if name in raw}
        return cls(raw=raw, **given)

    @property
    def page(self) -> str:
        """The address of its page, for people."""
        return str(self.raw["links"]["page"])


def _value(name: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if name in _TIMES and value else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(_Read):
    """An open item: somebody has to decide it before the operation goes on."""

    id: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(_Read):
    """One tool call. `outcome` is None until it has ended; of a list, `result` and such are None.

    `needs`: "people" or "operator", where somebody has to do something before it goes on.
    """

    id: str
    server: str
    tool: str
    state: str
    words: str
    outcome: str | None
    needs: str | None
    started_by: str
    by_service: bool
    reason: str
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    explanation: str = ""
    message: str = ""
    payload_visible: bool = False
    arguments: Json = None
    result: Json = None
    error: Json = None

    @property
    def waiting(self) -> list[Waiting]:
        return [Waiting.read(one) for one in self.raw.get("waiting", [])]

    @property
    def ended(self) -> bool:
        return self.outcome is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval(_Read):
    """One item of the inbox. `binding` is the proof of what was read, for Desk.decide()."""

    id: str
    operation_id: str
    kind: str
    shape: str
    state: str
    decision: str | None
    server: str
    tool: str
    started_by: str
    reason: str
    created_at: datetime
    deadline_at: datetime | None
    standing: str = ""
    binding: str | None = None
    agreed: int = 0
    needed: int = 1
    arguments: Json = None
    question: Json = None
    proposal: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Export(_Read):
    """A file of a list. `rows`: how many were sent so far."""

    id: str
    subject: str
    format: str
    begun_by: str = ""
    rows: int
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs(_Read):
    """What can become of an operation that broke; `seen` stands for all that was read."""

    operation_id: str
    state: str
    broken: bool
    known: Json
    not_known: str
    choices: Json
    needs_two: bool
    proposed: Json
    past: Json
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(_Read):
    name: str
    host: str
    identity: str
    paused: bool
    reachable: bool
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(_Read):
    """Everything but `problem` is the server's own claim."""

    name: str
    title: str
    description: str
    input_schema: Json
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(_Read):
    """One line of the log."""

    id: int
    at: datetime
    kind: str
    sentence: str
    actor: str
    operation_id: str | None
    approval_id: str | None
    data: Json
