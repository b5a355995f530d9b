"""Claim: takes due messages from PostgreSQL under a lease, one at a time for each target.

A worker that dies leaves its leases to end; then the message goes once more, under the same id, as
often as after any other failure.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from mcpdesk.notify.models import TO_SEND, Medium, Message, MessageState
from mcpdesk.notify.settle import MAX_ATTEMPTS, left_behind

#: Longer than any way of sending takes (posting.TIMEOUT_S; a mail server's answers).
LEASE: Final = timedelta(seconds=120)
IN_ONE_MAIL: Final = 100


@dataclass(frozen=True, slots=True)
class Parcel:
    """What goes out together: one message, or all mail for one person that is due.

    So a digest is one mail, and a server that asks five hundred things at once is no flood.
    """

    token: UUID
    message_ids: tuple[UUID, ...]


def anything_due(now: datetime) -> bool:
    """Whether a worker would find something to send at `now` (aware UTC)."""
    return _due(now).exists()


def claim(now: datetime, limit: int) -> list[Parcel]:
    """Take up to `limit` parcels that are due at `now` (aware UTC), the longest due first."""
    with transaction.atomic():
        _give_up_left_behind(now)
        first = _first_of_each_target(now).select_for_update(skip_locked=True, of=("self",))
        return [_take(message, now) for message in first[:limit]]


def _due(now: datetime) -> QuerySet[Message]:
    """What may be sent; what somebody claimed and never came back from, too."""
    left_behind = Q(state=MessageState.SENDING, leased_until__lte=now)
    return Message.objects.filter(
        Q(state__in=TO_SEND) | left_behind, next_at__lte=now, unwanted=False
    )


def _first_of_each_target(now: datetime) -> QuerySet[Message]:
    """So that a receiver that hangs holds one worker's thread, and messages keep their order."""
    same_target = Message.objects.filter(target=OuterRef("target"))
    on_its_way = same_target.filter(state=MessageState.SENDING, leased_until__gt=now)
    earlier = _due(now).filter(
        Q(created_at__lt=OuterRef("created_at"))
        | Q(created_at=OuterRef("created_at"), pk__lt=OuterRef("pk")),
        target=OuterRef("target"),
    )
    return _due(now).exclude(Exists(on_its_way)).exclude(Exists(earlier)).order_by("next_at", "pk")


def _take(message: Message, now: datetime) -> Parcel:
    taken = [message.pk]
    if message.medium == Medium.EMAIL and message.user_id is not None:
        together = _due(now).filter(target=message.target).exclude(pk=message.pk)
        locked = together.order_by("created_at", "pk").select_for_update(skip_locked=True)
        taken += locked.values_list("pk", flat=True)[: IN_ONE_MAIL - 1]
    parcel = Parcel(uuid.uuid4(), tuple(taken))
    Message.objects.filter(pk__in=taken).update(
        state=MessageState.SENDING,
        lease_token=parcel.token,
        leased_until=now + LEASE,
        attempts=F("attempts") + 1,
    )
    return parcel


def _give_up_left_behind(now: datetime) -> None:
    """What nobody wants any more, or no sender ever comes back from, is not sent again.

    Otherwise a message that ends its worker, or that takes longer than its lease, goes on forever.
    """
    over = Q(unwanted=True) | Q(attempts__gte=MAX_ATTEMPTS)
    left = Message.objects.filter(over, state=MessageState.SENDING, leased_until__lte=now)
    locked = left.order_by("pk").select_for_update(skip_locked=True, of=("self",))
    for message in locked.select_related("user", "channel"):
        left_behind(message, now)
