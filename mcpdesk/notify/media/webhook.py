"""Signed webhooks, as the Standard Webhooks specification has them (version 1, symmetric)."""

import base64
import hashlib
import hmac
import json
import secrets
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings

from mcpdesk.http.posting import post
from mcpdesk.notify.media.result import NotSent, Result, of_answer
from mcpdesk.notify.models import Channel, Message
from mcpdesk.notify.words import Words

#: The secret from before a rotation signs beside the new one for this long.
OVERLAP: Final = timedelta(hours=24)
#: At most so many from before sign too: every receiver checks each.
MAX_BEFORE: Final = 3
_PREFIX = "whsec_"
_SECRET_BYTES = 32


def new_secret() -> str:
    """A secret as receivers take it."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def rotated(secret: dict[str, Any] | None, now: datetime) -> dict[str, Any]:
    """The secrets of a channel with a new one in front; the old one ends OVERLAP from `now`.

    Those from before it keep their end: who rotates twice does not cut off the receiver.
    """
    made = {"current": new_secret()}
    if not secret:
        return made
    ends = (now + OVERLAP).isoformat()
    older = _before(secret, now)[: MAX_BEFORE - 1]
    return {**made, "previous": secret["current"], "previous_until": ends, "older": older}


def in_force(secret: dict[str, Any], now: datetime) -> list[str]:
    """The secrets that sign at `now`, the newest first."""
    return [secret["current"], *(one for one, _ in _before(secret, now))]


def _before(secret: dict[str, Any], now: datetime) -> list[list[str]]:
    """The secrets from before rotations that still sign, the newest first, each with its end."""
    known = [[secret["previous"], secret["previous_until"]]] if "previous" in secret else []
    known += secret.get("older", [])
    return [[one, until] for one, until in known if datetime.fromisoformat(until) > now]


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """One signature: HMAC-SHA256 over id, time (s) and body."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def send(message: Message, words: Words, now: datetime) -> Result:
    """Post one event. A copy, sent because nobody knows what became of the first, has its id."""
    channel = message.channel
    assert channel is not None
    if not channel.secret:
        return NotSent("The channel has no secret to sign with.", permanent=True)
    body = json.dumps(_event(message, words), ensure_ascii=True).encode()
    message_id, timestamp = f"msg_{message.pk.hex}", int(now.timestamp())
    signed = (signature(one, message_id, timestamp, body) for one in in_force(channel.secret, now))
    headers = {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signed),
    }
    return of_answer(post_to(channel, headers, body), now)


def post_to(channel: Channel, headers: dict[str, str], body: bytes) -> Any:
    """A POST to a channel's address; a private one only where admin and installation allow it."""
    allow = channel.allow_private and settings.ALLOW_PRIVATE_SERVERS
    return post(channel.target["url"], headers=headers, body=body, allow_private=allow)


def _event(message: Message, words: Words) -> dict[str, Any]:
    data: dict[str, Any] = {
        "summary": words.subject,
        "sentence": words.sentence,
        "url": words.link,
        "approval": str(message.approval_id) if message.approval_id else None,
        "operation": str(message.operation_id) if message.operation_id else None,
        **{label.lower().replace(" ", "_"): value for label, value in words.facts},
        **message.content.get("data", {}),
    }
    if words.arguments:
        data["arguments"] = words.arguments
    return {"type": message.event, "timestamp": message.created_at.isoformat(), "data": data}
