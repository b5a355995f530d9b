"""The two keys of a desk, generated on the first run of the embedded default. No Django here.

A desk on a database of its own (DATABASE_URL) must be given its keys: a key generated on one of
several machines would be a different key on each.
"""

import base64
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.locations import postgres_dir, secrets_dir

_SECRET_KEY = "secret_key"  # noqa: S105 - a file's name
_ENCRYPTION_KEYS = "encryption_keys"


@dataclass(frozen=True, slots=True)
class Keys:
    """Django's SECRET_KEY, and the Fernet keys of the encrypted fields (the first one encrypts)."""

    secret_key: str
    encryption_keys: tuple[str, ...]

    def __repr__(self) -> str:
        return "Keys(...)"


def read_keys(data: Path) -> Keys | None:
    """The generated keys of this data folder, or None where none were generated (or readable)."""
    folder = secrets_dir(data)
    try:
        secret_key = (folder / _SECRET_KEY).read_text("ascii").strip()
        encryption_keys = (folder / _ENCRYPTION_KEYS).read_text("ascii").split()
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return None
    return Keys(secret_key, tuple(encryption_keys))


def generate_keys(data: Path) -> Keys:
    """Write new keys into the data folder, readable by their owner alone.

    Raises StartError where a database exists already: what it holds encrypted would be lost
    behind a new key, so the old one has to come back instead.
    """
    folder = secrets_dir(data)
    if postgres_dir(data).exists():
        raise StartError(
            f"The keys of this desk are missing from {folder}, but its database exists. Put the "
            "files back from a backup, or give MCPDESK_SECRET_KEY and MCPDESK_ENCRYPTION_KEYS."
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    encryption_key = base64.urlsafe_b64encode(os.urandom(32)).decode("ascii")
    keys = Keys(secrets.token_urlsafe(50), (encryption_key,))
    _write(folder / _ENCRYPTION_KEYS, encryption_key)
    _write(folder / _SECRET_KEY, keys.secret_key)
    return keys


def _write(path: Path, text: str) -> None:
    """Write one line so that a crash leaves the whole file or none."""
    draft = path.with_name(f"{path.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
