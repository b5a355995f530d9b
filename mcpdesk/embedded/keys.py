"""The keys of a desk, generated on the first run of the embedded default. No Django here.

A desk on a database of its own (DATABASE_URL) must be given its keys: a key generated on one of
several machines would be a different key on each.
"""

import base64
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.locations import postgres_dir, secrets_dir

_SECRET_KEY = "secret_key"  # noqa: S105 - a file's name
_ENCRYPTION_KEYS = "encryption_keys"
_SEAL_KEY = "seal_key"
_SEAL_PUBLIC_KEYS = "seal_public_keys"


@dataclass(frozen=True, slots=True)
class Keys:
    """Django's SECRET_KEY, and the Fernet keys of the encrypted fields (the first one encrypts)."""

    secret_key: str
    encryption_keys: tuple[str, ...]

    def __repr__(self) -> str:
        return "Keys(...)"


@dataclass(frozen=True, slots=True)
class SealKeys:
    """The Ed25519 key that signs the log's seals, and every public key that ever did here."""

    private: str
    public: tuple[str, ...]

    def __repr__(self) -> str:
        return f"SealKeys(public={self.public})"


def read_keys(data: Path) -> Keys | None:
    """The generated keys of this data folder, or None where none were generated (or readable)."""
    folder = secrets_dir(data)
    try:
        secret_key = (folder / _SECRET_KEY).read_text("ascii").strip()
        encryption_keys = (folder / _ENCRYPTION_KEYS).read_text("ascii").split()
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return None
    return Keys(secret_key, tuple(encryption_keys))


def read_seal_keys(data: Path) -> SealKeys | None:
    """The generated keys of the seals, or None where none were generated (or readable)."""
    folder = secrets_dir(data)
    try:
        private = (folder / _SEAL_KEY).read_text("ascii").strip()
        return SealKeys(private, _public_seal_keys(folder))
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        return None


def generate_seal_key(data: Path) -> SealKeys:
    """Write a new key for the seals into the data folder, readable by its owner alone.

    Public keys of before stay, so that what they signed can still be verified.
    """
    folder = secrets_dir(data)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = Ed25519PrivateKey.generate()
    public = base64.urlsafe_b64encode(key.public_key().public_bytes_raw()).decode("ascii")
    keys = SealKeys(
        base64.urlsafe_b64encode(key.private_bytes_raw()).decode("ascii"),
        (*_public_seal_keys(folder), public),
    )
    _write(folder / _SEAL_PUBLIC_KEYS, "\n".join(keys.public))
    _write(folder / _SEAL_KEY, keys.private)
    return keys


def _public_seal_keys(folder: Path) -> tuple[str, ...]:
    try:
        return tuple((folder / _SEAL_PUBLIC_KEYS).read_text("ascii").split())
    except FileNotFoundError:
        return ()


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
    """Write the text so that a crash leaves the whole file or none."""
    draft = path.with_name(f"{path.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
