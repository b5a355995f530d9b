"""What a reply means, by the request it answers. Every function returns; none raises."""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mcpdesk.mcp.envelope import whole_number
from mcpdesk.mcp.inputs import InputRequest, read_input_requests
from mcpdesk.mcp.jsontext import canonical, plain
from mcpdesk.mcp.limits import MAX_DISCOVERY_CHARS, MAX_INPUT_REQUESTS, MAX_WORD_CHARS
from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.replies import ErrorReply, Reply, ReplyProblem, ResultReply, Unreadable
from mcpdesk.mcp.tasks import Task, seed_from, task_from, usable_task_id
from mcpdesk.mcp.tools import RejectedTool, Tool, read_tool_result, read_tools

INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
MODERN_ERRORS = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})
"""Errors that only a modern server sends (basic/index, Error Codes)."""

# -32600, -32601, -32602: what servers of earlier revisions say to `server/discover`, which every
# modern server has (server/discover).
_PREDATES_DISCOVERY = frozenset({-32600, -32601, -32602})
_LEGACY_STATUSES = frozenset({400, 404, 405, 406, 410, 415, 422})
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Finished:
    """A final result, as it came. `is_error`: the tool itself reported a failure."""

    result: dict[str, Any]
    is_error: bool
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class InputRequired:
    """One MRTR round. `request_state` None: none came, so none may be sent back."""

    input_requests: tuple[InputRequest, ...]
    request_state: str | None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskCreated:
    """The call became a remote task, which may be terminal already.

    Even then the result, the error or the questions need not be in it: ask `tasks/get` once more
    before believing that there are none.
    """

    task: Task


@dataclass(frozen=True, slots=True)
class Rejected:
    """A JSON-RPC error in answer to the request: the server did not do it."""

    code: int
    message: str
    data: Any = None
    http_status: int = 200


@dataclass(frozen=True, slots=True)
class InvalidResult:
    """A result this desk must refuse. A usable `task_id` in it is still worth following."""

    reason: str
    task_id: str | None
    result_type: str | None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nothing that answers the request arrived.

    `reason` is a `ReplyProblem` or a `FailureKind` of the transport. `sent` is False only where
    certainly no byte of the request left; otherwise the outcome of a call is unknown.
    """

    reason: str
    sentence: str
    sent: bool = True


@dataclass(frozen=True, slots=True)
class TaskMissing:
    """-32602: the server does not know the task (any more)."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class NotThisTask:
    """An answer that may not change the task: another id, or no state in it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The server took the update or the cancellation; what it did shows in `tasks/get`."""

    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Discovered:
    """A modern server's answer to `server/discover`. `ttl_ms` 0: do not keep."""

    supported_versions: tuple[str, ...]
    server_info: dict[str, Any]
    capabilities: dict[str, Any]
    instructions: str
    ttl_ms: int
    notes: tuple[Note, ...] = ()

    @property
    def offers_tasks(self) -> bool:
        """The server declared the Tasks extension."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and "io.modelcontextprotocol/tasks" in extensions


@dataclass(frozen=True, slots=True)
class LegacyServer:
    """The server speaks only revisions with an `initialize` handshake. `reason` is a sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class UnsupportedVersion:
    """-32022: a modern server, but not in our version."""

    supported: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolsPage:
    """One page of `tools/list`. `next_cursor` may be an empty string; None ends the list.

    `chars`: how much the server sent, as compact ASCII JSON.
    """

    tools: tuple[Tool, ...]
    rejected: tuple[RejectedTool, ...]
    next_cursor: str | None
    ttl_ms: int
    chars: int
    notes: tuple[Note, ...] = ()


CallOutcome = Finished | InputRequired | TaskCreated | Rejected | InvalidResult | NoAnswer
TaskOutcome = Task | TaskMissing | Rejected | NotThisTask | NoAnswer
AckOutcome = Acknowledged | TaskMissing | Rejected | NoAnswer
DiscoverOutcome = Discovered | LegacyServer | UnsupportedVersion | Rejected | NoAnswer
ToolsOutcome = ToolsPage | Rejected | NoAnswer


def read_call(reply: Reply) -> CallOutcome:
    """The outcome of `tools/call` (server/tools, basic/patterns/mrtr, tasks: Task Creation)."""
    if isinstance(reply, ErrorReply):
        return _rejected(reply)
    if isinstance(reply, Unreadable):
        return _no_answer(reply)
    kind = reply.result.get("resultType", _ABSENT)
    if kind is _ABSENT or kind == "complete":
        return _finished(reply, kind is _ABSENT)
    if kind == "input_required":
        return _input_required(reply)
    if kind == "task":
        return _task_created(reply)
    return _invalid(reply, "The server answered with a type of result this desk does not know.")


def read_task(reply: Reply, task_id: str) -> TaskOutcome:
    """The outcome of `tasks/get` for this task (tasks: Task Polling)."""
    if not isinstance(reply, ResultReply):
        return _task_refused(reply)
    result = reply.result
    if result.get("taskId") != task_id:
        return NotThisTask("The server's answer names another task, or none.")
    notes = _task_result_type(result.get("resultType", _ABSENT))
    if notes is None:
        return NotThisTask("The server's answer is of a type that no state of a task has.")
    task = task_from(result, task_id, reply.notes + notes)
    return task or NotThisTask("The server's answer has no status in it.")


def read_ack(reply: Reply) -> AckOutcome:
    """The outcome of `tasks/update` or `tasks/cancel`.

    An acknowledgement is not proof: what the server did shows in `tasks/get`.
    """
    if not isinstance(reply, ResultReply):
        return _task_refused(reply)
    kind = reply.result.get("resultType", _ABSENT)
    if kind is _ABSENT:
        return Acknowledged((*reply.notes, Note.RESULT_TYPE_MISSING))
    return Acknowledged(reply.notes) if kind == "complete" else _not_complete()


def read_discover(reply: Reply) -> DiscoverOutcome:
    """The outcome of `server/discover`, with the era of the server (basic/versioning)."""
    if isinstance(reply, ErrorReply):
        return _discover_refused(reply)
    if isinstance(reply, Unreadable):
        is_legacy = reply.http_status in _LEGACY_STATUSES
        return LegacyServer(reply.sentence) if is_legacy else _no_answer(reply)
    result = reply.result
    versions = result.get("supportedVersions")
    if result.get("resultType", "complete") != "complete" or not isinstance(versions, list):
        return _not_complete()
    if len(canonical(result)) > MAX_DISCOVERY_CHARS:
        return NoAnswer(ReplyProblem.TOO_BIG, "What the server says of itself is over 64 KiB.")
    return Discovered(
        supported_versions=_versions(versions),
        server_info=_object(_object(result.get("_meta")).get(_SERVER_INFO)),
        capabilities=_capabilities(result.get("capabilities")),
        instructions=_text(result.get("instructions")),
        ttl_ms=_freshness(result),
        notes=reply.notes,
    )


def read_tools_page(reply: Reply) -> ToolsOutcome:
    """The outcome of `tools/list`. Bad tools are left out and named."""
    if isinstance(reply, ErrorReply):
        return _busy(reply) or _rejected(reply)
    if isinstance(reply, Unreadable):
        return _no_answer(reply)
    result, notes = reply.result, reply.notes
    listed = result.get("tools")
    if result.get("resultType", "complete") != "complete" or not isinstance(listed, list):
        return _not_complete()
    tools, rejected = read_tools(listed)
    cursor = result.get("nextCursor")
    if cursor is not None and not isinstance(cursor, str):
        cursor, notes = None, (*notes, Note.CURSOR_UNREADABLE)
    return ToolsPage(tools, rejected, cursor, _freshness(result), len(canonical(result)), notes)


def offered_versions(reply: Reply) -> tuple[str, ...]:
    """What an UnsupportedProtocolVersion error (-32022) offers; empty for any other reply."""
    if not isinstance(reply, ErrorReply) or reply.code != UNSUPPORTED_VERSION:
        return ()
    return _versions(_object(reply.data).get("supported"))


def _finished(reply: ResultReply, is_untyped: bool) -> Finished:
    untyped = (Note.RESULT_TYPE_MISSING,) if is_untyped else ()
    is_error, notes = read_tool_result(reply.result)
    return Finished(reply.result, is_error, reply.notes + untyped + notes)


def _input_required(reply: ResultReply) -> InputRequired | InvalidResult:
    """At least one of the two fields must be there; a null counts as absent."""
    asked, state = reply.result.get("inputRequests"), reply.result.get("requestState")
    if asked is None and state is None:
        return _invalid(reply, "The server asks for input, but neither says for which nor how.")
    if state is not None and not isinstance(state, str):
        return _invalid(reply, "The server's requestState is not text.")
    if asked is not None and not isinstance(asked, dict):
        return _invalid(reply, "The server's list of questions is not an object.")
    notes = list(reply.notes)
    if asked == {}:
        notes.append(Note.INPUT_REQUESTS_EMPTY)
    if asked and len(asked) > MAX_INPUT_REQUESTS:
        notes.append(Note.INPUT_REQUESTS_TOO_MANY)
    return InputRequired(read_input_requests(asked or {}), state, tuple(notes))


def _task_created(reply: ResultReply) -> TaskCreated | InvalidResult:
    task_id = usable_task_id(reply.result.get("taskId"))
    if task_id is None:
        return _invalid(reply, "The server made a task, but gave no usable id for it.")
    task = seed_from(reply.result, task_id, reply.notes)
    return TaskCreated(task) if task else _invalid(reply, "The server's new task has no status.")


def _invalid(reply: ResultReply, reason: str) -> InvalidResult:
    """A refused result. The handle in it, if there is one, must not be lost."""
    kind = reply.result.get("resultType")
    word = plain(kind[:MAX_WORD_CHARS]) if isinstance(kind, str) else None
    return InvalidResult(reason, usable_task_id(reply.result.get("taskId")), word)


def _task_refused(reply: ErrorReply | Unreadable) -> TaskMissing | Rejected | NoAnswer:
    if isinstance(reply, Unreadable):
        return _no_answer(reply)
    if reply.code == INVALID_PARAMS:
        return TaskMissing(reply.code, plain(reply.message))
    return _busy(reply) or _rejected(reply)


def _task_result_type(kind: Any) -> tuple[Note, ...] | None:
    """The notes for the resultType of a `tasks/get` result; None for one it cannot have."""
    if kind == "complete":
        return ()
    if kind is _ABSENT:
        return (Note.RESULT_TYPE_MISSING,)
    return (Note.RESULT_TYPE_TASK,) if kind == "task" else None


def _discover_refused(reply: ErrorReply) -> DiscoverOutcome:
    """Modern errors mean modern; any other refusal means a server from before discovery."""
    if reply.code == UNSUPPORTED_VERSION:
        return UnsupportedVersion(offered_versions(reply))
    if reply.code in MODERN_ERRORS:
        return _rejected(reply)
    if reply.code in _PREDATES_DISCOVERY or reply.http_status in _LEGACY_STATUSES:
        return LegacyServer(f"The server does not know discovery (error {reply.code}).")
    return _busy(reply) or _rejected(reply)


def _busy(reply: ErrorReply) -> NoAnswer | None:
    """A request that is safe to repeat is not refused by an error inside a 429 or 503."""
    if reply.http_status not in (429, 503):
        return None
    return NoAnswer(ReplyProblem.BUSY, f"The server asked to slow down (HTTP {reply.http_status}).")


def _rejected(reply: ErrorReply) -> Rejected:
    return Rejected(reply.code, plain(reply.message), reply.data, reply.http_status)


def _no_answer(reply: Unreadable) -> NoAnswer:
    return NoAnswer(reply.reason, reply.sentence)


def _not_complete() -> NoAnswer:
    return NoAnswer(ReplyProblem.INVALID_RESULT, "The server's result is not one of this request.")


def _freshness(result: dict[str, Any]) -> int:
    """`ttlMs` of a cacheable result (server/utilities/caching): absent or negative is 0."""
    return max(whole_number(result.get("ttlMs")) or 0, 0)


def _versions(values: Any) -> tuple[str, ...]:
    """The dates in a list of versions (basic/versioning). They are kept in clear and in the log,
    where a server's own words do not go.
    """
    listed = values if isinstance(values, list) else []
    dates = (each for each in listed if isinstance(each, str) and _DATE.fullmatch(each))
    return tuple(islice(dates, MAX_INPUT_REQUESTS))


def _capabilities(value: Any) -> dict[str, Any]:
    """As declared, without extensions that are no object: those name none."""
    declared = _object(value)
    if isinstance(declared.get("extensions", {}), dict):
        return declared
    return {name: each for name, each in declared.items() if name != "extensions"}


def _text(value: Any) -> str:
    return plain(value) if isinstance(value, str) else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
