"""Start an operation: the row first, the call later."""

import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from mcpdesk.audit.log import Actor, record
from mcpdesk.mcp.jsontext import canonical, storable
from tasks_monitor.engine import history, traces
from tasks_monitor.engine.doorbell import ring_on_commit
from tasks_monitor.engine.errors import Refused
from tasks_monitor.models import Answerers, Era, Operation, Payload, Server
from tasks_monitor.states import State

MAX_ARGUMENT_BYTES = 1024 * 1024
MAX_KEY_CHARS = 200
MAX_REASON_CHARS = 500


@dataclass(frozen=True, slots=True)
class Started:
    """The operation, and whether this request made it (False: the key was used before)."""

    operation: Operation
    created: bool


@transaction.atomic
def start(
    *,
    team_id: int,
    server_id: int,
    tool_name: str,
    arguments: dict[str, Any],
    actor: Actor,
    now: datetime,
    reason: str = "",
    idempotency_key: str | None = None,
    questions_to: str | None = None,
    repeatable: bool = False,
    awaiting_approval: bool = False,
) -> Started:
    """Make an operation that a worker will send.

    The same `idempotency_key` in the same team returns the operation it made before. `repeatable`:
    the call may be sent again by itself when its outcome is unknown. `awaiting_approval`: nothing
    is sent, and nothing is due, until engine.gate.release(). Raises Refused.
    """
    server = callable_server(team_id, server_id)
    check_tool(server, tool_name)
    check_arguments(arguments)
    check_texts(reason, idempotency_key)
    earlier = _earlier(team_id, idempotency_key)
    if earlier is None:
        try:
            with transaction.atomic():
                operation = _insert(
                    server,
                    tool_name,
                    arguments,
                    actor=actor,
                    now=now,
                    reason=reason,
                    idempotency_key=idempotency_key,
                    questions_to=questions_to or default_answerers(server, actor),
                    repeatable=repeatable,
                    state=State.AWAITING_APPROVAL if awaiting_approval else State.READY,
                    due_at=None if awaiting_approval else now,
                )
            return Started(operation, created=True)
        except IntegrityError:
            # the same key in another transaction, which has committed by now
            earlier = _earlier(team_id, idempotency_key)
            if earlier is None:
                raise
    return Started(_same(earlier, server, tool_name, arguments), created=False)


def repeated(
    *,
    team_id: int,
    server_id: int,
    tool_name: str,
    arguments: dict[str, Any],
    idempotency_key: str | None,
) -> Operation | None:
    """The operation this very request made before, if it did.

    Raises Refused where the key was used for a different request.
    """
    check_texts("", idempotency_key)
    check_arguments(arguments)
    earlier = _earlier(team_id, idempotency_key)
    server = Server(pk=server_id)
    return _same(earlier, server, tool_name, arguments) if earlier else None


def callable_server(team_id: int, server_id: int) -> Server:
    """A server of this team that calls can go to. Raises Refused."""
    server = Server.objects.filter(pk=server_id, team_id=team_id).first()
    if server is None:
        raise Refused("There is no such server in this team.")
    if server.era == Era.UNTESTED:
        raise Refused(f"Test the connection to {server.name} first: it is not known what it is.")
    if server.era == Era.LEGACY:
        raise Refused(
            f"{server.name} speaks only the older protocol with an initialize handshake, "
            "which this desk cannot call yet."
        )
    return server


def check_tool(server: Server, tool_name: str) -> None:
    """Refuse what the server's own list says cannot be called."""
    if not 0 < len(tool_name) <= 256 or not storable(tool_name):
        raise Refused("Name the tool: 1 to 256 characters.")
    if server.tools_fetched_at is None:
        return
    tool = server.tools.filter(name=tool_name).first()
    if tool is None:
        raise Refused(
            f"{server.name} did not list a tool named {tool_name}. Test the server again "
            "if it has learned new tools."
        )
    if tool.problem:
        raise Refused(f"{tool_name} cannot be called: {tool.problem}")


def check_arguments(arguments: object) -> None:
    """Refuse arguments that are no JSON object, too big, or not valid Unicode."""
    if not isinstance(arguments, dict):
        raise Refused("The arguments must be a JSON object.")
    try:
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, TypeError, RecursionError):
        raise Refused("The arguments are not valid JSON in Unicode.") from None
    if len(text) > MAX_ARGUMENT_BYTES:
        raise Refused("The arguments are larger than 1 MiB.")


def check_texts(reason: str, idempotency_key: str | None) -> None:
    """Refuse texts that do not fit their columns."""
    if len(reason) > MAX_REASON_CHARS or not storable(reason):
        raise Refused(f"The reason must be at most {MAX_REASON_CHARS} characters of text.")
    key = idempotency_key
    if key is not None and (not 0 < len(key) <= MAX_KEY_CHARS or not storable(key)):
        raise Refused(f"An idempotency key has 1 to {MAX_KEY_CHARS} characters.")


def default_answerers(server: Server, actor: Actor) -> str:
    """Whom questions go to: what nobody started goes to the team's approvers."""
    return server.questions_to if actor.user is not None else Answerers.APPROVERS


def _earlier(team_id: int, idempotency_key: str | None) -> Operation | None:
    if idempotency_key is None:
        return None
    return (
        Operation.objects.select_related("payload")
        .filter(team_id=team_id, idempotency_key=idempotency_key)
        .first()
    )


def _same(earlier: Operation, server: Server, tool_name: str, arguments: Any) -> Operation:
    """The earlier operation, when the request is the same one."""
    # as JSON: to Python 1, 1.0 and True are the same; arguments that were deleted are not compared
    given = arguments if earlier.payload_deleted_at is None else None
    asked = (earlier.server_id, earlier.tool_name, canonical(earlier.payload.arguments))
    if asked != (server.pk, tool_name, canonical(given)):
        raise Refused("This idempotency key was used for a different request.")
    return earlier


def _insert(
    server: Server,
    tool_name: str,
    arguments: dict[str, Any],
    *,
    actor: Actor,
    now: datetime,
    **columns: Any,
) -> Operation:
    operation_id = uuid.uuid4()
    operation = Operation.objects.create(
        id=operation_id,
        traceparent=traces.begin(operation_id, server, tool_name, now),
        team_id=server.team_id,
        server=server,
        tool_name=tool_name,
        started_by=actor.user,
        token=actor.token,
        created_at=now,
        updated_at=now,
        **columns,
    )
    waits = operation.state == State.AWAITING_APPROVAL
    kind = "operation.requested" if waits else "operation.started"
    take_up(operation, kind, arguments, actor, now)
    return operation


def take_up(
    operation: Operation,
    kind: str,
    arguments: dict[str, Any] | None,
    actor: Actor,
    now: datetime,
    task: str | None = None,
) -> None:
    """What goes with every new operation: its payload, its line of the history, its first event, a
    ring on commit.
    """
    Payload.objects.create(operation=operation, arguments=arguments)
    history.begin(operation)
    record(
        kind,
        team_id=operation.team_id,
        operation_id=operation.pk,
        server_id=operation.server_id,
        actor=actor,
        now=now,
        tool=operation.tool_name[:200],
        server=operation.server.name,
        task=task,
    )
    if operation.state != State.AWAITING_APPROVAL:
        ring_on_commit(operation.pk)
