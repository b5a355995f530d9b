"""Whether everything that a start has to prepare is prepared already. Standard library only.

Preparing means loading Django, which costs a start one to two seconds. So what was prepared is
remembered together with everything it depended on: the code's packages, tables and static files,
and the settings in the environment.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from mcpdesk.embedded.locations import CHECKOUT

_SETTINGS = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "EMAIL_URL")
_NO_SETTINGS = ("MCPDESK_ADMIN_",)


class Prepared:
    """The memory of one data folder."""

    def __init__(self, data: Path) -> None:
        self._file = data / "prepared"

    def holds(self) -> bool:
        """Whether the last preparation still counts."""
        try:
            remembered = self._file.read_text()
        except FileNotFoundError:
            return False
        return remembered == _fingerprint() and (CHECKOUT / "staticfiles").is_dir()

    def remember(self) -> None:
        """All is prepared as things are now. Raises OSError."""
        self._file.write_text(_fingerprint())
        self._file.chmod(0o600)

    def forget(self) -> None:
        """The next start prepares again. Raises OSError."""
        self._file.unlink(missing_ok=True)


def static_fingerprint() -> str:
    """Changes when one of our static files or an installed package does."""
    return _digest([*CHECKOUT.glob("*.lock"), *_files(CHECKOUT / "static")])


def _fingerprint() -> str:
    code = [*_migrations(), CHECKOUT / "mcpdesk" / "settings.py"]
    digest = hashlib.sha256(f"{static_fingerprint()} {_digest(code)}".encode())
    for name, value in sorted(os.environ.items()):
        if name.startswith((*_SETTINGS, "MCPDESK_")) and not name.startswith(_NO_SETTINGS):
            digest.update(f"{name}={value}\0".encode())
    return digest.hexdigest()


def _migrations() -> list[Path]:
    """The migrations of our applications, which lie one or two folders deep."""
    return sorted({*CHECKOUT.glob("*/migrations/*.py"), *CHECKOUT.glob("*/*/migrations/*.py")})


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        facts = path.stat()
        digest.update(f"{path} {facts.st_size} {facts.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in sorted(os.walk(folder)):
        yield from (Path(parent) / name for name in sorted(names))
