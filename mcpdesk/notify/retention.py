"""Messages are kept for a while after they are over, then deleted; the log keeps that they were.

What still is to leave, or is on its way, is never deleted, however old it is.
"""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Q, QuerySet

from mcpdesk.notify.models import Message, MessageState

#: How often the clock looks (s), and how soon again where it left some over.
EVERY_S: Final = 3600.0
AGAIN_S: Final = 1.0
#: So few at once that nobody waits for the rows or the disk.
BATCH: Final = 500
#: What was given up waits for an admin, and stays so many times as long.
DEAD_TIMES: Final = 4


def clear(now: datetime) -> bool:
    """Delete a batch of what was over long before `now` (aware UTC); whether more may be left.

    MCPDESK_KEEP_MESSAGES_DAYS counts from the moment a message was over.
    """
    kept = timedelta(days=settings.KEEP_MESSAGES_DAYS)
    over = Q(state__in=(MessageState.SENT, MessageState.DROPPED), finished_at__lt=now - kept)
    dead = Q(state=MessageState.DEAD, finished_at__lt=now - kept * DEAD_TIMES)
    found = list(Message.objects.filter(over | dead).values_list("pk", flat=True)[:BATCH])
    # asked once more: somebody may have pressed "Send again" meanwhile
    Message.objects.filter(over | dead, pk__in=found).delete()
    return len(found) == BATCH


def take_back(messages: QuerySet[Message], now: datetime) -> None:
    """None of these leaves any more, in the caller's transaction: what they are about is deleted.

    One that is being sent right now is not tried a second time.
    """
    ids = list(messages.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))
    mine = Message.objects.filter(pk__in=ids)
    mine.filter(state=MessageState.SENDING).update(unwanted=True)
    mine.exclude(state__in=(MessageState.SENDING, MessageState.SENT)).update(
        state=MessageState.DROPPED,
        last_error="What it was about is deleted.",
        next_at=None,
        finished_at=now,
    )
