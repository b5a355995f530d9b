"""The verbs of one's own browsers: let the desk send to one, and take that back."""

import binascii
import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.db import transaction

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import User
from mcpdesk.http.addresses import BadAddress, origin_of
from mcpdesk.notify.media.push import decoded
from mcpdesk.notify.models import PushSubscription
from mcpdesk.notify.plain import one_line

MAX_BROWSERS: Final = 20
MAX_ENDPOINT_CHARS: Final = 1000
#: An uncompressed point on P-256, and the secret beside it (RFC 8291 section 3).
_P256DH_BYTES: Final = 65
_AUTH_BYTES: Final = 16
NOT_ONE = "This is not a subscription of a browser."


@dataclass(frozen=True, slots=True)
class Subscribed:
    """What a browser said of itself (PushSubscription.toJSON of the Push API)."""

    endpoint: str = field(repr=False)
    p256dh: str = field(repr=False)
    auth: str = field(repr=False)
    browser: str


@transaction.atomic(durable=True)
def subscribe(user: User, said: Subscribed, *, now: datetime) -> PushSubscription:
    """Keep a browser of this person; one that was somebody else's is theirs from now on.

    Raises Refused for what is no subscription.
    """
    _check(said)
    digest = hashlib.sha256(said.endpoint.encode()).hexdigest()
    mine = PushSubscription.objects.filter(user=user).exclude(endpoint_hash=digest)
    if mine.count() >= MAX_BROWSERS:
        raise Refused(f"You have {MAX_BROWSERS} browsers already. Remove one first.")
    PushSubscription.objects.filter(endpoint_hash=digest).exclude(user=user).delete()
    kept = {
        "user": user,
        "target": {"endpoint": said.endpoint, "p256dh": said.p256dh, "auth": said.auth},
        "browser": one_line(said.browser, 80) or "A browser",
        "off_at": None,
        "last_problem": "",
    }
    found, _ = PushSubscription.objects.update_or_create(
        endpoint_hash=digest, defaults=kept, create_defaults={**kept, "created_at": now}
    )
    return found


def unsubscribe(user: User, subscription_id: int) -> None:
    """Forget a browser of this person. Raises PushSubscription.DoesNotExist for another's."""
    PushSubscription.objects.get(user=user, pk=subscription_id).delete()


def _check(said: Subscribed) -> None:
    try:
        is_https = origin_of(said.endpoint).scheme == "https"
        sizes = (len(decoded(said.p256dh)), len(decoded(said.auth)))
    except (BadAddress, binascii.Error, ValueError):
        raise Refused(NOT_ONE) from None
    long = len(said.endpoint) > MAX_ENDPOINT_CHARS
    if long or not is_https or sizes != (_P256DH_BYTES, _AUTH_BYTES):
        raise Refused(NOT_ONE)
