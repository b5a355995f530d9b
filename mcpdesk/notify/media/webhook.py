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
_PREFIX = "whsec_"
_SECRET_BYTES = 32


def new_secret() -> str:
    """A secret as receivers take it."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def rotated(secret: dict[str, str] | None, now: datetime) -> dict[str, str]:
    """The secrets of a channel with a new one in front; the old one ends OVERLAP from `now`."""
    made = {"current": new_secret()}
    if not secret:
        return made
    return {**made, "previous": secret["current"], "previous_until": (now + OVERLAP).isoformat()}


def in_force(secret: dict[str, str], now: datetime) -> list[str]:
    """The secrets that sign at `now`, the newest first."""
    until = secret.get("previous_until")
    if until is None or datetime.fromisoformat(until) <= now:
        return [secret["current"]]
    return [secret["current"], secret["previous"]]


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
