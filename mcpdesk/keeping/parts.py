"""What operations carried, kind by kind: a dry run counts from this table and deletion goes by it.

Rows that lists, the log and links lead to stay, and lose what was said in them; rows that are
nothing but somebody's words go.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from django.db.models import Model, Q, QuerySet

from approvals.models import Approval, Comment, Draft, Vote
from mcpdesk.notify.models import Message
from tasks_monitor.models import Attempt, Delivery, InputRequest, Operation, Payload, Repair

Operations: TypeAlias = "QuerySet[Operation]"
Rows: TypeAlias = "QuerySet[Any]"


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of thing that operations carried.

    `name` in the plural, for people. `rows`: those of some operations that still hold it. `left`:
    the columns of such a row once it is deleted; None: the row itself goes.
    """

    name: str
    rows: Callable[[Operations], Rows]
    left: Mapping[str, Any] | None

    def delete(self, operations: Operations) -> int:
        """Delete it of these operations, locked by the caller; how many rows held it."""
        rows = self.rows(operations)
        if self.left is not None:
            return rows.update(**self.left)
        found = list(rows.values_list("pk", flat=True))
        rows.model._default_manager.filter(pk__in=found).delete()
        return len(found)


_SEALED: Final = ("arguments", "request_state", "status_message", "result", "error", "notes")
_CARRIED: Final = (*_SEALED, "decisions")


def _holding(model: type[Model], path: str, operations: Operations, **more: Any) -> Rows:
    return model._default_manager.filter(**{f"{path}__in": operations}, **more)


def _any_of(*columns: str) -> Q:
    """Rows in which one of these is there."""
    found = Q()
    for column in columns:
        found |= Q(**{f"{column}__isnull": False})
    return found


def _payloads(operations: Operations) -> Rows:
    return Payload.objects.filter(_any_of(*_CARRIED), operation__in=operations)


def _said_of(operations: Operations) -> Rows:
    """What stands on the operation itself: why it was started, why it ended, the handle."""
    said = ~Q(reason="") | ~Q(explanation="") | _any_of("task_id", "snapshot_digest")
    return operations.filter(said)


def messages_about(operations: Operations) -> QuerySet[Message]:
    """What people and channels were told about these operations and their items."""
    approvals = Approval.objects.filter(operation__in=operations)
    about = Q(operation_id__in=operations.values("pk")) | Q(approval_id__in=approvals.values("pk"))
    return Message.objects.filter(about)


#: What is left of an operation's own row. The short hash of the handle stays: a task is adopted
#: once, and the log names it so.
_BARE: Final = {"reason": "", "explanation": "", "task_id": None, "snapshot_digest": None}

PARTS: Final = (
    Part("arguments, results and notes of calls", _payloads, dict.fromkeys(_CARRIED)),
    Part("reasons, explanations and handles of operations", _said_of, _BARE),
    Part(
        "handles that single calls brought",
        partial(_holding, Attempt, "operation", task_id__isnull=False),
        {"task_id": None},
    ),
    Part(
        "questions",
        partial(_holding, InputRequest, "operation"),
        # what is left of a question's hash could be guessed from
        {"key": "", "params": None, "fingerprint": ""},
    ),
    Part("answers", partial(_holding, Delivery, "input_request__operation"), {"response": {}}),
    Part(
        "reasons and evidence of repairs", partial(_holding, Repair, "operation"), {"content": {}}
    ),
    Part(
        "proposed answers",
        partial(_holding, Approval, "operation", proposal__isnull=False),
        {"proposal": None},
    ),
    Part(
        "reasons of votes",
        partial(_holding, Vote, "approval__operation", reason__isnull=False),
        {"reason": None},
    ),
    Part("comments", partial(_holding, Comment, "approval__operation"), None),
    Part("drafts", partial(_holding, Draft, "approval__operation"), None),
    Part("texts of messages", messages_about, {"content": {}}),
)
