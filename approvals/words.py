"""The words an item is found by, and its operation through it (see tasks_monitor.engine.words)."""

from typing import Any
from uuid import uuid4

from approvals.models import Approval
from mcpdesk import blind
from tasks_monitor.engine.words import add, mark_decided, message_of, say, sealed
from tasks_monitor.models import InputRequest, Operation


def of_new(operation: Operation, request: InputRequest | None = None) -> dict[str, Any]:
    """The columns by which lists find a new item; the operation's server is loaded."""
    pk = uuid4()
    return {
        "id": pk,
        "server_id": operation.server_id,
        "tool_name": operation.tool_name,
        "started_by_id": operation.started_by_id,
        "words": of_item(operation, pk, request and request.params)[: blind.MAX_NUMBERS],
    }


def of_item(operation: Operation, pk: object, asked: object) -> list[int]:
    """What an item says, and what the server asked by it (the params of its question)."""
    team_id = operation.team_id
    texts = (operation.tool_name, operation.server.name, str(pk), str(operation.pk))
    own = blind.open_numbers(team_id, *texts, operation.reason)
    return own + sealed(team_id, message_of(asked))


def said(approval: Approval, user_id: int, reason: str) -> None:
    """This person voted, and why they did: in the transaction of the vote."""
    team_id = approval.team_id
    mark = blind.mark(team_id, blind.DECIDED, user_id)
    add(Approval.objects.filter(pk=approval.pk), sealed(team_id, reason), first=[mark])
    mark_decided(approval.operation_id, team_id, user_id)
    say(approval.operation, reason)
