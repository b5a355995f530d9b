"""The words in which tools are written: a script is rounds before the answer, then steps of a task.

A script is plain data. What a task shows at a moment follows from its script, the time since it
was created and the answers so far (see `timeline`), so nothing runs in the background and a
restarted or second instance sees the same task.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mcpdesk.simulator.protocol import Json, text_result

FOREVER_MS = 10**15


@dataclass(frozen=True, slots=True)
class Story:
    """All that a finished call can tell about: its arguments, answers, rounds and count."""

    arguments: Json
    answers: Json = field(default_factory=dict)
    instances: tuple[str, ...] = ()
    effect_number: int = 0

    @property
    def nonce(self) -> str:
        """The caller's mark for "the same operation", or an empty string."""
        return str(self.arguments.get("nonce", ""))

    def content(self, key: str) -> Json:
        """What was filled in for a key; empty when nothing was accepted."""
        answer = self.answers.get(key, {})
        content: Json = answer.get("content", {}) if isinstance(answer, dict) else {}
        return content


Finish = Callable[[Story], Json]


@dataclass(frozen=True, slots=True)
class Ask:
    """Input requests put at once; the script goes on when every key has an answer.

    Keys that leave after `withdrawn_ms` are withdrawn unanswered; after `changes_ms` the requests
    are those of `changed` (the same key with another question: against the rules).
    The first `drops` answers to each key are acknowledged and lost.
    """

    requests: Mapping[str, Json]
    withdrawn_ms: int = FOREVER_MS
    changes_ms: int = FOREVER_MS
    changed: Mapping[str, Json] = field(default_factory=dict)
    drops: int = 0
    message: str = "Waiting for input"
    lawless: bool = False
    """Asks what the rules forbid, declared or not; answers are taken as they come."""
    only_declared: bool = False
    """Asks only those of the questions that the client declared it can answer."""


@dataclass(frozen=True, slots=True)
class StateOnly:
    """A round without questions: only requestState, to be sent again after a pause."""


@dataclass(frozen=True, slots=True)
class Work:
    """Time passing in a task, in milliseconds, with the statusMessage shown meanwhile."""

    ms: int
    message: str = "Working"


@dataclass(frozen=True, slots=True)
class Fail:
    """The end of a task by a JSON-RPC error."""

    code: int
    message: str


class Cancel(StrEnum):
    """What tasks/cancel does."""

    HONOURED = "honoured"
    IGNORED = "ignored"
    RACED = "raced"
    """Acknowledged, but the work was already done: the task completes."""


class State(StrEnum):
    """How rounds remember: sealed state, none at all, or an empty string that must come back."""

    SEALED = "sealed"
    NONE = "none"
    EMPTY = "empty"


def say_done(story: Story) -> Json:
    """The result of a script that has nothing better to say: what it was told, and how often."""
    structured = {
        "answers": story.answers,
        "instances": list(story.instances),
        "run": story.effect_number,
    }
    text = f"Done (run {story.effect_number} for nonce {story.nonce or 'none'})."
    return text_result(text, structured=structured)


@dataclass(frozen=True, slots=True)
class Script:
    """One tool call, played from the start. `task` None: the call itself answers."""

    rounds: tuple[Ask | StateOnly, ...] = ()
    task: tuple[Work | Ask | Fail, ...] | None = None
    finish: Finish = say_done
    cancel: Cancel = Cancel.HONOURED
    state: State = State.SEALED
    state_ttl_ms: int = 3_600_000
    task_optional: bool = False
    """Plays without a task for a client that did not declare the extension."""
    ttl_ms: int | None = 3_600_000
    poll_ms: int | None = 500
    effect: bool = True
    """Finishing counts as a side effect."""
    once: bool = False
    """A second start with the same nonce is refused as a duplicate."""
    delay_ms: int = 0
    """Pause before the call itself is answered."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is listed, and the script that its arguments choose."""

    name: str
    title: str
    description: str
    script: Callable[[Json], Script]
    properties: Mapping[str, Json] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    annotations: Mapping[str, bool] = field(default_factory=dict)
    output_schema: Json | None = None
    needs: Json | None = None
    """Client capabilities without which the call is refused with -32021."""
    streamed: bool = False
    """Answers as an event stream, with progress when a progressToken came."""

    @property
    def schema(self) -> Json:
        """The tool's inputSchema."""
        schema: Json = {"type": "object", "properties": dict(self.properties)}
        if self.required:
            schema["required"] = list(self.required)
        return schema

    def listed(self) -> Json:
        """The entry in tools/list."""
        entry: Json = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema,
        }
        if self.output_schema is not None:
            entry["outputSchema"] = self.output_schema
        if self.annotations:
            entry["annotations"] = dict(self.annotations)
        return entry
