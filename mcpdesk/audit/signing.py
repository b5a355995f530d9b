"""The key that signs the log's seals, and the public keys that verify them (Ed25519, RFC 8032)."""

import base64
import hashlib
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings

KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Signer:
    """The installation's key: what signs from now on."""

    private: Ed25519PrivateKey
    key_id: str

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)


def key_of(text: str) -> bytes:
    """The 32 bytes of a key as settings hold it. Raises ValueError."""
    key = base64.urlsafe_b64decode(text.encode("ascii"))
    if len(key) != KEY_BYTES:
        raise ValueError("a key has 32 bytes")
    return key


def text_of(key: bytes) -> str:
    """A key as settings hold it: URL-safe base64."""
    return base64.urlsafe_b64encode(key).decode("ascii")


def key_id(public: bytes) -> str:
    """What a seal calls the key that signed it: the beginning of its SHA-256, hex."""
    return hashlib.sha256(public).hexdigest()[:16]


def public_of(seal_key: str) -> bytes:
    """The public half of a private key. Raises ValueError."""
    return Ed25519PrivateKey.from_private_bytes(key_of(seal_key)).public_key().public_bytes_raw()


def signer() -> Signer:
    """The configured key. Raises ValueError where there is none (checks.py refuses to start)."""
    return _signer(settings.SEAL_KEY)


def public_keys() -> dict[str, bytes]:
    """Every public key whose seals are believed: that of the configured key, and former ones."""
    return _public_keys(settings.SEAL_KEY, tuple(settings.SEAL_PUBLIC_KEYS))


def is_signed(message: bytes, signature: bytes, key: bytes) -> bool:
    """Whether the signature is that public key's over this message."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=4)
def _signer(seal_key: str) -> Signer:
    private = Ed25519PrivateKey.from_private_bytes(key_of(seal_key))
    return Signer(private, key_id(private.public_key().public_bytes_raw()))


@lru_cache(maxsize=4)
def _public_keys(seal_key: str, former: tuple[str, ...]) -> dict[str, bytes]:
    keys = [public_of(seal_key), *map(key_of, former)]
    return {key_id(key): key for key in keys}
