"""Prepare: decides what a claimed operation needs next, and writes it down before it leaves."""

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from mcpdesk.logs import about
from mcpdesk.mcp.headers import HeaderPlan, InvalidToolHeader, header_plan
from tasks_monitor.engine.claim import Claim, release
from tasks_monitor.engine.endpoints import endpoint_for
from tasks_monitor.engine.hold import stops
from tasks_monitor.engine.rows import lock, move, note
from tasks_monitor.engine.work import Call, Cancel, Poll, Update, Work
from tasks_monitor.models import (
    Attempt,
    Delivery,
    DeliveryState,
    InputRequestSource,
    Operation,
)
from tasks_monitor.session import new_request_id
from tasks_monitor.states import State
from tasks_monitor.transport import Endpoint

logger = logging.getLogger(__name__)


def prepare(claims: Iterable[Claim], now: datetime) -> list[tuple[Work, Endpoint]]:
    """The requests to make for these claims and where they go; each is durable when returned.

    A claim that cannot be prepared waits for its lease to end, and takes no other one with it.
    """
    prepared = []
    for claim in claims:
        try:
            # first the endpoint: nothing is written of a request that could not be addressed
            endpoint, work = endpoint_for(claim), _prepare_one(claim, now)
        except Exception:
            with about(operation=claim.operation_id, server=claim.server.server_id):
                logger.exception("operation %s could not be prepared", claim.operation_id)
            if not connection.is_usable():
                break
            continue
        if work is not None:
            prepared.append((work, endpoint))
    return prepared


def _prepare_one(claim: Claim, now: datetime) -> Work | None:
    if claim.state == State.READY:
        return _begin_call(claim, now)
    if not claim.has_task:
        release(claim, due_at=None)
        return None
    return _next_for_task(claim, now) if claim.attention else Poll(claim)


def _held(claim: Claim) -> Operation | None:
    """The operation, locked, while this lease still holds it."""
    operation = lock(claim.operation_id)
    return operation if operation.lease_token == claim.lease_token else None


@transaction.atomic
def _begin_call(claim: Claim, now: datetime) -> Call | None:
    """Record `calling` and the attempt: the request may leave once this has committed."""
    stopped = stops(claim.server.server_id)
    operation = _held(claim)
    if operation is None or operation.state != State.READY:
        return None
    if stopped:
        # not to be claimed again before the end of the hold, which makes it due
        release(claim, due_at=None)
        note(operation, "call.held", now)
        return None
    plan = _header_plan(operation)
    if isinstance(plan, str):
        move(operation, State.FAILED, now=now, reason=plan)
        return None
    move(
        operation,
        State.CALLING,
        now=now,
        reason="The call is about to leave",
        due_at=None,
        attempts_made=operation.attempts_made + 1,
    )
    attempt = Attempt.objects.create(
        operation=operation,
        number=operation.attempts_made,
        request_id=new_request_id(),
        round=operation.round,
        sent_at=now,
    )
    note(
        operation,
        "call.sent",
        now,
        attempt=attempt.number,
        request_id=attempt.request_id,
        round=attempt.round,
    )
    return Call(
        claim,
        attempt.pk,
        attempt.request_id,
        operation.tool_name,
        plan,
        operation.payload.arguments or {},
        _round_responses(operation, now),
        operation.payload.request_state,
    )


def _header_plan(operation: Operation) -> HeaderPlan | str:
    """Which arguments go into headers too, or a sentence why the tool cannot be called."""
    tool = operation.server.tools.filter(name=operation.tool_name).first()
    if tool is None:
        return ()
    schema = tool.definition.get("inputSchema")
    try:
        return header_plan(schema if isinstance(schema, dict) else {})
    except InvalidToolHeader as error:
        return f"The tool cannot be called: {error.reason}"


def _round_responses(operation: Operation, now: datetime) -> dict[str, Any] | None:
    """The answers of the current MRTR round; None where the call carries none."""
    deliveries = list(
        Delivery.objects.select_related("input_request").filter(
            input_request__operation=operation,
            input_request__source=InputRequestSource.MRTR,
            input_request__round=operation.round,
        )
    )
    _mark_sent(operation, deliveries, now)
    return dict(d.as_input_response() for d in deliveries) or None


@transaction.atomic
def _next_for_task(claim: Claim, now: datetime) -> Work | None:
    """An answer before a cancellation, a cancellation before a poll; a poll where in doubt.

    After a request that got no answer comes a poll: a cancellation that the server never answers
    must not hide how the task ends. Under a hold nothing but polls is sent.
    """
    stopped = stops(claim.server.server_id)
    operation = _held(claim)
    if operation is None:
        return None
    sent = None if stopped else _answer_or_cancel(claim, operation, now)
    if sent is not None:
        return sent
    if operation.poll_not_before and operation.poll_not_before > now:
        release(claim, due_at=operation.poll_not_before)
        return None
    return Poll(claim)


def _answer_or_cancel(claim: Claim, operation: Operation, now: datetime) -> Update | Cancel | None:
    deliveries = list(
        Delivery.objects.select_for_update(of=("self",))
        .select_related("input_request")
        .filter(
            input_request__operation=operation,
            input_request__source=InputRequestSource.TASK,
            state__in=[DeliveryState.SAVED, DeliveryState.SENT],
        )
    )
    in_doubt = any(d.state == DeliveryState.SENT for d in deliveries)
    if deliveries and not in_doubt:
        _mark_sent(operation, deliveries, now)
        responses = dict(d.as_input_response() for d in deliveries)
        return Update(claim, tuple(d.pk for d in deliveries), responses)
    cancels = operation.cancel_requested_at and operation.cancel_sent_at is None
    return Cancel(claim) if cancels and not operation.failed_polls else None


def _mark_sent(operation: Operation, deliveries: list[Delivery], now: datetime) -> None:
    for delivery in deliveries:
        delivery.state = DeliveryState.SENT
        delivery.sent_at = now
        delivery.times_sent += 1
        delivery.save(update_fields=["state", "sent_at", "times_sent"])
        note(
            operation,
            "answer.sent",
            now,
            question=delivery.input_request_id,
            count=delivery.times_sent,
        )
