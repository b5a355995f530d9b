"""Browser notifications: Web Push (RFC 8030), encrypted for the browser (RFC 8291)."""

import base64
import binascii
import hashlib
import json
from datetime import datetime
from typing import Final

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec

from mcpdesk.http.posting import post
from mcpdesk.notify import vapid
from mcpdesk.notify.media.result import NotSent, Result, of_answer
from mcpdesk.notify.models import Message
from mcpdesk.notify.outbox import ENDED
from mcpdesk.notify.words import Words

#: A push service keeps it for a browser that is off for at most this long (s).
TTL_S: Final = 24 * 3600
#: Of a subscription that is over a push service says one of these (RFC 8030 section 7.3), or 410.
_GONE = (404,)


def send(message: Message, words: Words, now: datetime) -> Result:
    """One notification. A later one about the same matter takes its place in the browser."""
    subscription = message.subscription
    assert subscription is not None
    target = subscription.target
    try:
        body = encrypted(_payload(message, words), target["p256dh"], target["auth"])
    except (ValueError, binascii.Error, http_ece.ECEException):
        return NotSent("The browser's key cannot be used.", permanent=True, gone=True)
    headers = {
        "authorization": vapid.authorization(target["endpoint"], now),
        "content-encoding": "aes128gcm",
        "content-type": "application/octet-stream",
        "ttl": str(TTL_S),
        "urgency": "normal",
        # one that still waits at the push service is replaced (RFC 8030 section 5.4)
        "topic": tag_of(message)[:32],
    }
    # any member can name an endpoint: never one on a private address
    return of_answer(post(target["endpoint"], headers=headers, body=body), now, gone=_GONE)


def tag_of(message: Message) -> str:
    """What notifications of one matter have in common; says nothing by itself."""
    return hashlib.sha256(message.matter.encode()).hexdigest()


def _payload(message: Message, words: Words) -> bytes:
    """Never with arguments: a lock screen shows it to anybody."""
    shown = {
        "title": words.subject,
        "body": words.sentence,
        "url": words.link,
        "tag": tag_of(message),
        "over": message.event.endswith(ENDED),
    }
    return json.dumps(shown).encode()


def encrypted(payload: bytes, p256dh: str, auth: str) -> bytes:
    """The payload for one browser. Raises ValueError or ECEException for keys that are none."""
    return bytes(
        http_ece.encrypt(
            payload,
            private_key=ec.generate_private_key(ec.SECP256R1()),
            dh=decoded(p256dh),
            auth_secret=decoded(auth),
            version="aes128gcm",
        )
    )


def decoded(text: str) -> bytes:
    """URL-safe base64 with or without padding. Raises binascii.Error."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
