"""Adopt: follow a task that some other client started."""

from datetime import datetime

from django.db import transaction

from mcpdesk.audit.log import Actor
from mcpdesk.mcp.jsontext import storable
from mcpdesk.mcp.limits import MAX_TASK_ID_CHARS
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.start import (
    Started,
    callable_server,
    check_texts,
    default_answerers,
    take_up,
)
from tasks_monitor.models import Operation, Server, hash_task_id
from tasks_monitor.states import State


@transaction.atomic
def adopt(
    *,
    team_id: int,
    server_id: int,
    task_id: str,
    tool_name: str,
    actor: Actor,
    now: datetime,
    reason: str = "",
    questions_to: str | None = None,
) -> Started:
    """Put a task handle under the desk's care; it is polled from now on.

    A handle that the desk follows already (adopted or its own) returns that operation. Raises
    Refused.
    """
    server = callable_server(team_id, server_id)
    check_task_id(task_id)
    check_texts(reason, None)
    if not 0 < len(tool_name) <= 256 or not storable(tool_name):
        raise Refused("Name the tool that made the task: 1 to 256 characters.")
    be_alone_at(server)
    earlier = followed(server, task_id)
    if earlier is not None:
        return Started(earlier, created=False)
    answerers = questions_to or default_answerers(server, actor)
    operation = _insert(server, task_id, tool_name, actor, now, reason, answerers)
    return Started(operation, created=True)


def check_task_id(task_id: str) -> None:
    """Refuse what no server could have sent, or no request header could carry."""
    if not task_id or len(task_id) > MAX_TASK_ID_CHARS:
        raise Refused(f"A task id has 1 to {MAX_TASK_ID_CHARS} characters.")
    if not storable(task_id):
        raise Refused("The task id is not valid Unicode.")


def be_alone_at(server: Server) -> None:
    """Until the transaction ends nobody else begins to follow a task of this server by its id.

    Two people who name one task at the same moment would both find that nobody follows it.
    """
    Server.objects.select_for_update(no_key=True).only("pk").get(pk=server.pk)


def followed(server: Server, task_id: str) -> Operation | None:
    """The operation that follows this handle on this server, if there is one."""
    return Operation.objects.filter(server=server, task_hash=hash_task_id(task_id)).first()


def _insert(
    server: Server,
    task_id: str,
    tool_name: str,
    actor: Actor,
    now: datetime,
    reason: str,
    questions_to: str,
) -> Operation:
    operation = Operation.objects.create(
        team_id=server.team_id,
        server=server,
        tool_name=tool_name,
        state=State.WORKING,
        adopted=True,
        started_by=actor.user,
        token=actor.token,
        reason=reason,
        questions_to=questions_to,
        created_at=now,
        updated_at=now,
        due_at=now,
        task_id=task_id,
        task_hash=hash_task_id(task_id),
        task_created_at=now,
    )
    take_up(operation, "operation.adopted", None, actor, now, task=operation.task_label)
    return operation
