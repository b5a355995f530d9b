"""Takes in what the engine wrote: a new question opens an item, a closed one closes its item.

Rows are always locked in the order operation, approval, input request; decide does the same. The
operation's lock makes two intakes of one operation wait for each other, and the unique key on
`Approval.input_request` stands behind it.
"""

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F

from approvals import gate, policy, question, standstill, words
from approvals.expire import CLOSES_AS, close, ending
from approvals.models import Approval, ApprovalState, Audience, Kind
from approvals.opened import opened
from mcpdesk.accounts import access
from mcpdesk.audit.announce import announce
from mcpdesk.logs import about
from tasks_monitor.models import Answerers, InputRequest, InputRequestState, Operation
from tasks_monitor.states import State

logger = logging.getLogger(__name__)

_BATCH = 500


def take_in(operation_id: UUID, *, now: datetime) -> int:
    """Bring the inbox up to date with one operation's questions; returns how many were new to it.

    Idempotent: what was taken in before is left alone.
    """
    with transaction.atomic(durable=True):
        operation = _locked(operation_id)
        untaken = _untaken(operation) if operation else []
        for place, request in enumerate(untaken):
            # a microsecond apart: lists go by age, and so keep the order in which the server asked
            _take(request, now + place * timedelta.resolution)
            _mark_taken(request)
        _close_gate(operation, now)
        return len(untaken)


def sweep(now: datetime) -> int:
    """Take in what nobody rang for; returns the number of operations looked at.

    One operation that fails is logged and does not keep the others waiting.
    """
    waiting = InputRequest.objects.exclude(version=F("taken_version")).order_by()
    operation_ids = list(waiting.values_list("operation_id", flat=True).distinct()[:_BATCH])
    for operation_id in operation_ids:
        try:
            take_in(operation_id, now=now)
        except Exception:
            with about(operation=operation_id):
                logger.exception("could not take in the questions of operation %s", operation_id)
    return len(operation_ids)


def _close_gate(operation: Operation | None, now: datetime) -> None:
    """An operation that does not wait at the gate any more has nothing left to be approved."""
    if operation is None or operation.state == State.AWAITING_APPROVAL:
        return
    gates = Approval.objects.select_for_update(of=("self",)).select_related("operation")
    for approval in gates.filter(operation=operation, kind=Kind.GATE, state=ApprovalState.OPEN):
        ended = operation.finished_at is not None
        close(approval, ending(approval) if ended else ApprovalState.CLOSED, now=now)


def _locked(operation_id: UUID) -> Operation | None:
    return Operation.objects.select_for_update(no_key=True).filter(pk=operation_id).first()


def _untaken(operation: Operation) -> list[InputRequest]:
    """In the order in which the engine wrote them: that of the server."""
    return list(
        InputRequest.objects.filter(operation=operation)
        .exclude(version=F("taken_version"))
        .select_related("operation__server", "operation__started_by", "operation__payload")
        .order_by("pk")
    )


def _take(request: InputRequest, now: datetime) -> None:
    approval = (
        Approval.objects.select_for_update(of=("self",))
        .select_related("operation")
        .filter(input_request=request)
        .first()
    )
    is_asked = request.state == InputRequestState.OPEN
    if approval is None:
        if is_asked:
            _open(request, now)
    elif approval.is_open:
        if is_asked:
            _bump(approval)
        else:
            close(approval, CLOSES_AS[request.state], now=now)


def _open(request: InputRequest, now: datetime) -> None:
    """The item of a new question; who may answer it, and until when, is fixed here.

    By the team's policy of now where a rule speaks of questions, else by the operation's setting.
    """
    operation = request.operation
    kept = gate.questions_of(operation, now)
    ask = policy.read_ask(kept["ask"]) if kept else None
    approval = Approval.objects.create(
        team_id=operation.team_id,
        operation=operation,
        **words.of_new(operation, request),
        input_request=request,
        kind=Kind.ANSWER,
        shape=question.read(request).shape,
        audience=Audience(ask.audience) if ask else _audience(operation),
        policy=kept,
        four_eyes=ask is not None and ask.four_eyes,
        created_at=now,
        deadline_at=_deadline(operation, ask, now),
    )
    opened(approval, ask.people if ask else (), now)


def _deadline(operation: Operation, ask: policy.Ask | None, now: datetime) -> datetime | None:
    """The rule's or the operation's own, whichever comes first (UTC).

    Under a hold the operation's has moved on already, though its row says so only at the end.
    """
    by_rule = now + timedelta(seconds=ask.deadline_s) if ask and ask.deadline_s else None
    by_operation = standstill.deadline_of_operation(operation, now)
    deadlines = [at for at in (by_operation, by_rule) if at is not None]
    return min(deadlines, default=None)


def _audience(operation: Operation) -> Audience:
    """Whom the question is put to; the approvers where nobody started it or who did has left."""
    if operation.questions_to == Answerers.APPROVERS or operation.started_by is None:
        return Audience.APPROVERS
    requester = access.member_in(operation.started_by, operation.team_id)
    if requester is None or not requester.may(access.Permission.DECIDE):
        return Audience.APPROVERS
    return Audience.REQUESTER


def _bump(approval: Approval) -> None:
    """A form that shows the question as it was must not be taken any more."""
    approval.version += 1
    approval.save(update_fields=["version"])
    announce(approval.team_id, operation_id=approval.operation_id, approval_id=approval.pk)


def _mark_taken(request: InputRequest) -> None:
    """Names the version that was read: one that changed meanwhile stays to be taken in."""
    InputRequest.objects.filter(pk=request.pk).update(taken_version=request.version)
