"""The desk's key for Web Push, and the token made with it (VAPID, RFC 8292)."""

import base64
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import serialization
from django.conf import settings
from py_vapid import Vapid02

from mcpdesk.notify.models import PushKey

#: Push services take a token that ends within a day (RFC 8292 section 2).
_TOKEN_LIFE: Final = timedelta(hours=12)


def make_key(**_: object) -> None:
    """Make the desk's key pair if there is none; of two made at once one stays.

    Sent for when the tables were made or brought up to date (post_migrate), so that there is one
    before anybody asks, and no page has to write.
    """
    if not PushKey.objects.exists():
        PushKey.objects.bulk_create([_made()], ignore_conflicts=True)


def key() -> PushKey:
    """The desk's key pair. Raises PushKey.DoesNotExist where the tables were never set up."""
    return PushKey.objects.get()


def authorization(endpoint: str, now: datetime) -> str:
    """The value of the Authorization header for one push service."""
    place = urlsplit(endpoint)
    claims = {
        "aud": f"{place.scheme}://{place.netloc}",
        "exp": int((now + _TOKEN_LIFE).timestamp()),
        "sub": f"mailto:{settings.DEFAULT_FROM_EMAIL}",
    }
    signer = Vapid02.from_pem(key().private_key.encode())
    return str(signer.sign(claims)["Authorization"])


def _made() -> PushKey:
    pair = Vapid02()
    pair.generate_keys()
    point = pair.public_key.public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    return PushKey(
        private_key=pair.private_pem().decode(),
        public_key=base64.urlsafe_b64encode(point).rstrip(b"=").decode(),
    )
