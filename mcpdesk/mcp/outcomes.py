"""What a reply means, by the request it answers. Every function returns; none raises."""

from dataclasses import dataclass
from typing import Any

from mcpdesk.mcp.inputs import InputRequest
from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.replies import ErrorReply, Reply, ReplyProblem, ResultReply, Unreadable
from mcpdesk.mcp.tasks import Task, TaskStatus, Ttl
from mcpdesk.mcp.tools import RejectedTool, Tool


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
    """The call became a remote task, which may be terminal already."""

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
    """One page of `tools/list`. `next_cursor` may be an empty string; None ends the list."""

    tools: tuple[Tool, ...]
    rejected: tuple[RejectedTool, ...]
    next_cursor: str | None
    ttl_ms: int
    notes: tuple[Note, ...] = ()


CallOutcome = Finished | InputRequired | TaskCreated | Rejected | InvalidResult | NoAnswer
TaskOutcome = Task | TaskMissing | Rejected | NotThisTask | NoAnswer
AckOutcome = Acknowledged | TaskMissing | Rejected | NoAnswer
DiscoverOutcome = Discovered | LegacyServer | UnsupportedVersion | Rejected | NoAnswer
ToolsOutcome = ToolsPage | Rejected | NoAnswer


def read_call(reply: Reply) -> CallOutcome:
    """The outcome of `tools/call` (server/tools, basic/patterns/mrtr, tasks: Task Creation)."""
    raise NotImplementedError


def read_task(reply: Reply, task_id: str) -> TaskOutcome:
    """The outcome of `tasks/get` for this task (tasks: Task Polling)."""
    raise NotImplementedError


def read_ack(reply: Reply) -> AckOutcome:
    """The outcome of `tasks/update` or `tasks/cancel`."""
    raise NotImplementedError


def read_discover(reply: Reply) -> DiscoverOutcome:
    """The outcome of `server/discover`, with the era of the server (basic/versioning)."""
    raise NotImplementedError


def read_tools_page(reply: Reply) -> ToolsOutcome:
    """The outcome of `tools/list`. Bad tools are left out and named."""
    raise NotImplementedError
