"""Model fields whose content is encrypted before it reaches the database.

The keys are a list of their own (`settings.ENCRYPTION_KEYS`, Fernet keys, the first one encrypts,
all of them decrypt), so that they rotate without touching Django's SECRET_KEY. JSON is written with
ASCII escapes only: NUL characters and lone surrogates, which a server may send and which
PostgreSQL's own json and text types refuse, survive unchanged.
"""

import json
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.db import models


@lru_cache(maxsize=4)
def _box(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def box() -> MultiFernet:
    """The cipher for the configured key list; rebuilt when the list changes."""
    return _box(tuple(settings.ENCRYPTION_KEYS))


def encrypt_json(value: Any) -> bytes:
    """One JSON value as an encrypted token (bytes)."""
    return box().encrypt(json.dumps(value, separators=(",", ":")).encode("ascii"))


def decrypt_json(token: bytes | memoryview) -> Any:
    """The JSON value inside a token.

    Raises cryptography.fernet.InvalidToken when no configured key opens it.
    """
    return json.loads(box().decrypt(bytes(token)))


class EncryptedJSONField(models.BinaryField):  # type: ignore[type-arg]
    """A JSON value (object, array, string, number, boolean), encrypted at rest; NULL stays NULL."""

    description = "JSON value, encrypted at rest"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def get_prep_value(self, value: Any) -> bytes | None:
        return None if value is None else encrypt_json(value)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return None if value is None else decrypt_json(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        token = value if prepared else self.get_prep_value(value)
        return None if token is None else connection.Database.Binary(token)

    def value_to_string(self, obj: models.Model) -> str:
        raise NotImplementedError("encrypted values are not serialised")
