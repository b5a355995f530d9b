"""Settle: writes down what became of a parcel, under the lease that it was taken with."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from mcpdesk.audit.log import DESK, record
from mcpdesk.notify.media.result import NotSent, Result, Sent
from mcpdesk.notify.models import Channel, Message, MessageState, PushSubscription

#: How long after each failure it is tried again (s), give or take a fifth; then it is given up.
PAUSES_S: Final = (5, 30, 120, 600, 1800, 7200, 18_000)
MAX_ATTEMPTS: Final = len(PAUSES_S) + 1
#: However long the other side asks for, one message waits no longer (s).
MAX_PAUSE_S: Final = 18_000.0
_JITTER = 0.2
NOBODY_CAME_BACK: Final = "Whoever sent it never came back to say what became of it."


@transaction.atomic
def settle(token: UUID, result: Result, now: datetime) -> None:
    """Write down what became of a parcel; does nothing where its lease has been taken over."""
    messages = list(_leased(token))
    for message in messages:
        if isinstance(result, Sent):
            _sent(message, result, now)
        else:
            _failed(message, result, now)
    if messages:
        _note(messages[0], result, now)


@transaction.atomic
def drop(token: UUID, reasons: dict[UUID, str], now: datetime) -> None:
    """Some of a parcel's messages are not for their recipients any more: why, by id."""
    for message in _leased(token).filter(pk__in=reasons):
        _finish(message, MessageState.DROPPED, now, last_error=reasons[message.pk])


def _leased(token: UUID) -> QuerySet[Message]:
    held = Message.objects.filter(lease_token=token, state=MessageState.SENDING)
    related = held.select_related("user", "channel", "subscription")
    return related.order_by("pk").select_for_update(of=("self",))


def _sent(message: Message, result: Sent, now: datetime) -> None:
    _finish(message, MessageState.SENT, now, provider_id=result.provider_id[:200], last_error="")
    _record("notice.sent", message, now)


def _failed(message: Message, result: NotSent, now: datetime) -> None:
    if message.unwanted:
        _finish(message, MessageState.DROPPED, now, last_error=result.sentence)
    elif result.permanent or message.attempts >= MAX_ATTEMPTS:
        _finish(message, MessageState.DEAD, now, last_error=result.sentence)
        _record("notice.given_up", message, now)
    else:
        pause = pause_s(message.attempts, result.after_s, random.uniform)
        message.state = MessageState.FAILED
        message.next_at = now + timedelta(seconds=pause)
        message.last_error = result.sentence
        _save(message, "next_at", "last_error")


def left_behind(message: Message, now: datetime) -> None:
    """Its lease ended, and it is not sent once more; `message` is locked."""
    _failed(message, NotSent(NOBODY_CAME_BACK), now)


def pause_s(attempts: int, after_s: float | None, spread: Callable[[float, float], float]) -> float:
    """How long to wait (s) after that many attempts; never shorter than the other side asked."""
    pause = PAUSES_S[min(attempts, len(PAUSES_S)) - 1]
    waited = pause * spread(1 - _JITTER, 1 + _JITTER)
    return max(waited, min(after_s or 0.0, MAX_PAUSE_S))


def _finish(message: Message, state: MessageState, now: datetime, **values: Any) -> None:
    message.state, message.next_at, message.finished_at = state, None, now
    for name, value in values.items():
        setattr(message, name, value)
    _save(message, "next_at", "finished_at", *values)


def _save(message: Message, *fields: str) -> None:
    message.lease_token = message.leased_until = None
    message.save(update_fields=["state", "lease_token", "leased_until", *fields])


def _note(message: Message, result: Result, now: datetime) -> None:
    """What a channel or a browser shows of how it went; one that is gone is switched off."""
    if message.channel is not None:
        _note_channel(message.channel, result, now)
    elif message.subscription is not None:
        _note_browser(message.subscription, result, now)


def _note_channel(channel: Channel, result: Result, now: datetime) -> None:
    rows = Channel.objects.filter(pk=channel.pk)
    if isinstance(result, Sent):
        rows.update(last_sent_at=now, last_problem="", last_problem_at=None)
        return
    rows.update(last_problem=result.sentence, last_problem_at=now)
    if result.gone and rows.filter(enabled=True).update(enabled=False, off_because=result.sentence):
        record("channel.gone", team_id=channel.team_id, actor=DESK, now=now, channel=channel.name)


def _note_browser(subscription: PushSubscription, result: Result, now: datetime) -> None:
    rows = PushSubscription.objects.filter(pk=subscription.pk)
    if isinstance(result, Sent):
        rows.update(last_sent_at=now, last_problem="")
    elif result.gone:
        rows.update(last_problem=result.sentence, off_at=now)
    else:
        rows.update(last_problem=result.sentence)


def _record(kind: str, message: Message, now: datetime) -> None:
    record(
        kind,
        team_id=message.team_id,
        actor=DESK,
        now=now,
        operation_id=message.operation_id,
        approval_id=message.approval_id,
        to=message.user or str(message.channel),
        medium=message.get_medium_display(),
        topic=message.get_topic_display(),
    )
