"""What a task shows at a moment: a pure function of its record and the time (Unix ms)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from mcpdesk.simulator.protocol import Json, text_result
from mcpdesk.simulator.scripts import Ask, Cancel, Fail, Script, Story, Work


@dataclass(slots=True)
class TaskRecord:
    """What is kept of a task. Times are Unix milliseconds; `answers` maps key to (answer, time)."""

    id: str
    tool: str
    arguments: Json
    created_ms: int
    gathered: Json = field(default_factory=dict)
    instances: list[str] = field(default_factory=list)
    answers: dict[str, tuple[Json, int]] = field(default_factory=dict)
    cancelled_ms: int | None = None
    effect_number: int = 0


class Seen(NamedTuple):
    """A task as it looks from outside. `changed_ms` becomes lastUpdatedAt."""

    status: str
    changed_ms: int
    message: str = ""
    requests: Mapping[str, Json] = {}
    result: Json | None = None
    error: Json | None = None
    done: bool = False
    """The work was really done: completed, and not because somebody refused."""

    @property
    def terminal(self) -> bool:
        """Whether nothing can change any more."""
        return self.status in ("completed", "failed", "cancelled")


def stamp(ms: int) -> str:
    """ISO 8601 in UTC with milliseconds."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def refusal(answers: Mapping[str, Json]) -> str | None:
    """ "declined" or "cancelled" when any of the answers is a no, else None."""
    actions = {answer.get("action") for answer in answers.values() if isinstance(answer, dict)}
    if "decline" in actions:
        return "declined"
    return "cancelled" if "cancel" in actions else None


def refused_result(word: str) -> Json:
    """The result of a call whose question was refused: it says so and that nothing was done."""
    return text_result(f"The request was {word} by the user. Nothing was done.")


def story_of(record: TaskRecord) -> Story:
    """The record as the finishing function sees it."""
    answers = record.gathered | {key: answer for key, (answer, _) in record.answers.items()}
    return Story(record.arguments, answers, tuple(record.instances), record.effect_number)


def look(record: TaskRecord, script: Script, now_ms: int) -> Seen:
    """The task at `now_ms`. What was true earlier stays true: terminal is final."""
    cancelled = record.cancelled_ms
    if cancelled is None or script.cancel is Cancel.IGNORED:
        return _play(record, script, now_ms)
    before = _play(record, script, cancelled)
    if before.terminal:
        return before
    if script.cancel is Cancel.RACED:
        return _finished(record, script, cancelled)
    return Seen("cancelled", cancelled, "Cancelled at the client's request")


def _play(record: TaskRecord, script: Script, now_ms: int) -> Seen:
    clock = record.created_ms
    for step in script.task or ():
        if isinstance(step, Work):
            if now_ms < clock + step.ms:
                return Seen("working", clock, step.message)
            clock += step.ms
        elif isinstance(step, Fail):
            error = {"code": step.code, "message": step.message}
            return Seen("failed", clock, step.message, error=error)
        else:
            waiting, clock = _asked(record, step, clock, now_ms)
            if waiting is not None:
                return waiting
            if word := refusal(_answers_to(record, step)):
                return Seen("completed", clock, f"Refused: {word}", result=refused_result(word))
    return _finished(record, script, clock)


def _answers_to(record: TaskRecord, step: Ask) -> dict[str, Json]:
    return {key: record.answers[key][0] for key in step.requests if key in record.answers}


def _asked(record: TaskRecord, step: Ask, since: int, now_ms: int) -> tuple[Seen | None, int]:
    """(what is shown while keys are open, or None once they are not; when that changed)."""
    times = [record.answers[key][1] for key in step.requests if key in record.answers]
    done = max([since, *times])
    if len(times) == len(step.requests):
        return None, done
    if now_ms >= since + step.withdrawn_ms:
        return None, max(done, since + step.withdrawn_ms)
    requests = step.changed if now_ms >= since + step.changes_ms else step.requests
    open_requests = {key: ask for key, ask in requests.items() if key not in record.answers}
    return Seen("input_required", done, step.message, open_requests), done


def _finished(record: TaskRecord, script: Script, at_ms: int) -> Seen:
    result = script.finish(story_of(record))
    return Seen("completed", at_ms, "Finished", result=result, done=True)


def as_wire(record: TaskRecord, script: Script, seen: Seen) -> Json:
    """The Task fields that every answer about a task carries."""
    task: Json = {
        "taskId": record.id,
        "status": seen.status,
        "createdAt": stamp(record.created_ms),
        "lastUpdatedAt": stamp(seen.changed_ms),
        "ttlMs": script.ttl_ms,
    }
    if script.poll_ms is not None:
        task["pollIntervalMs"] = script.poll_ms
    if seen.message:
        task["statusMessage"] = seen.message
    return task


def as_detailed_wire(record: TaskRecord, script: Script, seen: Seen) -> Json:
    """The DetailedTask of tasks/get and notifications/tasks."""
    task = as_wire(record, script, seen)
    if seen.status == "input_required":
        task["inputRequests"] = dict(seen.requests)
    if seen.result is not None:
        task["result"] = seen.result
    if seen.error is not None:
        task["error"] = seen.error
    return task
