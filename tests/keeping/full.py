"""An operation that carried something in every place there is, each text with a mark in it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from cryptography.fernet import InvalidToken
from django.apps import apps
from django.db import connection

from approvals.models import Approval, ApprovalState, Comment, Draft, Verdict, Vote
from approvals.words import said
from mcpdesk.accounts.models import Team, User
from mcpdesk.encryption import EncryptedJSONField, decrypt_json
from mcpdesk.notify.models import Medium, Message, MessageState, Topic
from tasks_monitor.engine import words
from tasks_monitor.models import Operation, Payload, Repair, RepairState
from tasks_monitor.states import State
from tests.factories import (
    NOW,
    ApprovalFactory,
    AttemptFactory,
    DeliveryFactory,
    InputRequestFactory,
    OperationFactory,
    UserFactory,
    form_params,
)

#: Encrypted columns that belong to no operation: identities, settings, keys, browsers.
OF_NO_OPERATION = {
    "Server.credential",
    "Server.discovery",
    "Tool.definition",
    "PolicyRule.match",
    "PolicyVersion.rules",
    "Channel.target",
    "Channel.secret",
    "PushKey.private_key",
    "PushSubscription.target",
}
MARK = "zqmarkqz"


def full_operation(
    team: Team,
    *,
    by: User,
    ended: datetime | None = NOW,
    state: State = State.COMPLETED,
    mark: str = MARK,
) -> Operation:
    """Everything an operation can carry; `by` started it, answered, voted and commented."""
    operation: Operation = OperationFactory(
        server__team=team,
        state=state,
        started_by=by,
        created_at=NOW - timedelta(days=9),
        finished_at=ended,
        reason=f"{mark} started because",
        explanation=f"{mark} explained",
        task_id=f"{mark} handle",
        arguments={"project": f"{mark} argument"},
        snapshot_digest=b"0" * 32,
    )
    Payload.objects.filter(operation=operation).update(
        request_state=f"{mark} state",
        status_message=f"{mark} says",
        result={"content": [{"type": "text", "text": f"{mark} result"}]},
        error={"code": 1, "message": f"{mark} error"},
        notes=[f"{mark} note"],
        decisions=[{"at": NOW.isoformat(), "by": str(by), "choice": "c", "reason": mark}],
    )
    AttemptFactory(operation=operation, task_id=f"{mark} attempt")
    Repair.objects.create(
        operation=operation,
        choice="record_done",
        content={"reason": f"{mark} repair", "evidence": mark, "task_id": mark},
        state=RepairState.DONE,
        proposed_by=by,
        proposed_at=NOW,
    )
    _asked(operation, by, mark)
    words.say(operation, f"{mark} found")
    return operation


def _asked(operation: Operation, by: User, mark: str) -> Approval:
    request = InputRequestFactory(
        operation=operation,
        key=f"{mark} key",
        params=form_params(f"{mark} message"),
        state="answered",
    )
    approval: Approval = ApprovalFactory(
        input_request=request,
        state=ApprovalState.DECIDED,
        proposal={"action": "accept", "content": {"a": f"{mark} proposal"}},
        closed_at=NOW,
    )
    DeliveryFactory(input_request=request, response={"action": "decline", "content": mark})
    reason = f"{mark} vote"
    vote = {"version": 1, "choice": Verdict.APPROVE, "at": NOW, "reason": reason}
    Vote.objects.create(approval=approval, user=by, **vote)
    said(approval, by.pk, reason)
    Comment.objects.create(approval=approval, user=by, text=f"{mark} comment", at=NOW)
    Draft.objects.create(approval=approval, user=by, submitted={"a": f"{mark} draft"})
    message(operation, approval, mark)
    return approval


def message(operation: Operation, approval: Approval, mark: str, **more: Any) -> Message:
    columns = {"state": MessageState.SENT, "finished_at": NOW, **more}
    made: Message = Message.objects.create(
        team=operation.team,
        medium=Medium.EMAIL,
        user=UserFactory(),
        target="u1",
        topic=Topic.ASKED,
        event="approval.opened",
        matter=str(approval.pk),
        approval_id=approval.pk,
        once=f"{approval.pk}{columns['state']}",
        content={"arguments": f"{mark} told"},
        created_at=NOW,
        **columns,
    )
    return made


def encrypted_fields() -> Iterator[tuple[str, Any, str]]:
    """(label, model, column) of every encrypted column that operations can fill."""
    for model in apps.get_models():
        for field in model._meta.get_fields():
            label = f"{model.__name__}.{field.name}"
            if isinstance(field, EncryptedJSONField) and label not in OF_NO_OPERATION:
                yield label, model, field.name


def everything() -> Iterator[str]:
    """Every value of every column of every table, decrypted where a key opens it."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                for value in row:
                    yield f"{table}: {_plain(value)}"


def _plain(value: Any) -> Any:
    if not isinstance(value, bytes | memoryview):
        return value
    try:
        return decrypt_json(value)
    except (InvalidToken, ValueError):
        return bytes(value)


def holding(text: str) -> list[str]:
    """Where in the database this text still stands."""
    return [value[:120] for value in everything() if text in value]


def numbers_of(operation_id: UUID) -> set[int]:
    """What the operation and its items are found by."""
    found = Operation.objects.get(pk=operation_id)
    numbers = set(found.history.words)
    return numbers.union(*found.approvals.values_list("words", flat=True))
