"""Deliver: claim, commit, send, settle. No transaction is open while anything is on a network."""

import logging
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from mcpdesk.notify import settle, standing
from mcpdesk.notify.claim import Parcel, claim
from mcpdesk.notify.media import chats, mail, push, webhook
from mcpdesk.notify.media.result import NotSent, Result
from mcpdesk.notify.models import Medium, Message
from mcpdesk.notify.outbox import arguments_allowed
from mcpdesk.notify.words import Words, words_of

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
THREADS: Final = 8
#: Nothing new is begun after this long: the clock rings again.
LASTS: Final = timedelta(seconds=30)

_BY_MEDIUM: Final[dict[str, Callable[[Message, Words, datetime], Result]]] = {
    Medium.PUSH: push.send,
    Medium.WEBHOOK: webhook.send,
    Medium.SLACK: chats.send_to_slack,
    Medium.TEAMS: chats.send_to_teams,
}


def deliver(clock: Clock) -> int:
    """Send what is due, several at a time; returns how many parcels went through here."""
    running: set[Future[None]] = set()
    ends, carried = clock() + LASTS, 0
    with ThreadPoolExecutor(THREADS, thread_name_prefix="notify") as threads:
        while True:
            now = clock()
            taken = claim(now, THREADS - len(running)) if now < ends else []
            carried += len(taken)
            running |= {threads.submit(_carry_alone, parcel, clock) for parcel in taken}
            if not running:
                return carried
            running = wait(running, return_when=FIRST_COMPLETED).not_done


def _carry_alone(parcel: Parcel, clock: Clock) -> None:
    """In a thread of its own. What fails here is left to its lease."""
    try:
        carry(parcel, clock)
    except Exception:
        logger.exception("a message could not be sent: %s", parcel.message_ids[0])
    finally:
        connection.close()


def carry(parcel: Parcel, clock: Clock) -> None:
    """Send one parcel and write down what became of it."""
    found = Message.objects.filter(lease_token=parcel.token).order_by("created_at", "pk")
    messages = list(found.select_related("user", "channel", "subscription"))
    reasons = {message.pk: standing.why_not(message) for message in messages}
    unwanted = {pk: reason for pk, reason in reasons.items() if reason is not None}
    if unwanted:
        settle.drop(parcel.token, unwanted, clock())
    wanted = [message for message in messages if message.pk not in unwanted]
    if wanted:
        settle.settle(parcel.token, _send(wanted, clock()), clock())


def _send(messages: list[Message], now: datetime) -> Result:
    allowed = _teams_with_arguments(messages)
    words = [words_of(one, with_arguments=one.team_id in allowed) for one in messages]
    first = messages[0]
    try:
        if first.medium == Medium.EMAIL:
            return mail.send(messages, words)
        return _BY_MEDIUM[first.medium](first, words[0], now)
    except Exception:
        # tried again as often as anything else: whatever it is may pass
        logger.exception("message %s could not be made", first.pk)
        return NotSent("The message could not be made.")


def _teams_with_arguments(messages: list[Message]) -> set[int]:
    """Asked again: a team may have switched it off since the message was written."""
    teams = {message.team_id for message in messages}
    return {team_id for team_id in teams if arguments_allowed(team_id)}
