"""Configuration is checked at start: each finding has an id, a sentence, and a way out."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import connection
from django.http.request import validate_host
from django.utils import timezone

from mcpdesk.accounts.adapter import sends_mail
from mcpdesk.audit.signing import key_of
from mcpdesk.logs import FORMATS
from tasks_monitor.engine.heartbeat import PROCESSES, silences
from tasks_monitor.models import Heartbeat

#: A token shorter than this could be guessed.
_TOKEN_CHARS = 32
_LOCAL_HOSTS = {"127.0.0.1", "localhost", "::1"}


@register("mcpdesk")
def configuration(**_: Any) -> list[CheckMessage]:
    """All findings about the settings; nothing here needs the database."""
    return [
        *_secret_key(),
        *_encryption_keys(),
        *_seal_keys(),
        *_addresses(),
        *_debug(),
        *_mail(),
        *_metrics(),
        *_logs(),
    ]


@register(Tags.database)
def processes(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Whether clock and worker were seen lately; asked with `./desk check --database default`."""
    if not databases or Heartbeat._meta.db_table not in connection.introspection.table_names():
        return []
    return [
        Warning(
            f"No {silence.process} process was seen for a minute: nothing moves by itself.",
            hint=f"Start one with `./desk {silence.process}`; `./desk up` starts all.",
            id="mcpdesk.W010",
        )
        for silence in silences(timezone.now())
        if silence.process in PROCESSES
    ]


def _secret_key() -> Iterator[CheckMessage]:
    if not settings.SECRET_KEY_IS_SET:
        yield Error(
            "MCPDESK_SECRET_KEY is not set.",
            hint="Set it to 50 or more random characters, the same on every machine. "
            "`./desk up` with the embedded database makes one by itself.",
            id="mcpdesk.E001",
        )
    elif len(settings.SECRET_KEY) < 50:
        yield Error(
            "MCPDESK_SECRET_KEY is shorter than 50 characters.",
            hint="Set it to 50 or more random characters.",
            id="mcpdesk.E002",
        )


def _encryption_keys() -> Iterator[CheckMessage]:
    if not settings.ENCRYPTION_KEYS:
        yield Error(
            "MCPDESK_ENCRYPTION_KEYS is not set: nothing could be stored.",
            hint="Set it to one or more Fernet keys (32 random bytes, URL-safe base64), "
            "separated by commas. The first encrypts, all decrypt.",
            id="mcpdesk.E003",
        )
    for position, key in enumerate(settings.ENCRYPTION_KEYS, start=1):
        try:
            Fernet(key)
        except ValueError:
            yield Error(
                f"Key {position} of MCPDESK_ENCRYPTION_KEYS is not a Fernet key.",
                hint="A Fernet key is 32 random bytes in URL-safe base64 (44 characters).",
                id="mcpdesk.E004",
            )


def _seal_keys() -> Iterator[CheckMessage]:
    hint = "32 random bytes in URL-safe base64 (44 characters), the same on every machine."
    if not settings.SEAL_KEY:
        yield Error(
            "MCPDESK_SEAL_KEY is not set: the log would not be sealed.",
            hint=f"Set it to {hint} `./desk up` with the embedded database makes one by itself.",
            id="mcpdesk.E020",
        )
    elif not _is_key(settings.SEAL_KEY):
        yield Error(
            "MCPDESK_SEAL_KEY is not an Ed25519 key.", hint=f"It is {hint}", id="mcpdesk.E021"
        )
    for position, key in enumerate(settings.SEAL_PUBLIC_KEYS, start=1):
        if not _is_key(key):
            yield Error(
                f"Key {position} of MCPDESK_SEAL_PUBLIC_KEYS is not a public Ed25519 key.",
                hint="It is 32 bytes in URL-safe base64; the page of seals shows it.",
                id="mcpdesk.E022",
            )


def _is_key(text: str) -> bool:
    try:
        key_of(text)
    except ValueError:
        return False
    return True


def _addresses() -> Iterator[CheckMessage]:
    parts = urlsplit(settings.PUBLIC_URL)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        yield Error(
            f"MCPDESK_URL is not an address: {settings.PUBLIC_URL}",
            hint="Set it to the address people open, such as https://desk.example.org.",
            id="mcpdesk.E005",
        )
        return
    if parts.hostname not in _LOCAL_HOSTS and parts.scheme != "https":
        yield Warning(
            "MCPDESK_URL is public and not https: sign-ins would travel in clear.",
            hint="Put a TLS proxy in front, and set MCPDESK_URL to the https address.",
            id="mcpdesk.W006",
        )
    if not validate_host(parts.hostname, settings.ALLOWED_HOSTS):
        yield Error(
            f"MCPDESK_HOSTS does not hold {parts.hostname}, the host of MCPDESK_URL.",
            hint=f"Set MCPDESK_HOSTS={parts.hostname} (several: separated by commas).",
            id="mcpdesk.E007",
        )


def _debug() -> Iterator[CheckMessage]:
    host = urlsplit(settings.PUBLIC_URL).hostname
    if settings.DEBUG and host not in _LOCAL_HOSTS:
        yield Error(
            "MCPDESK_DEBUG is on and MCPDESK_URL is public: error pages would show secrets.",
            hint="Unset MCPDESK_DEBUG.",
            id="mcpdesk.E008",
        )
    if settings.DEMO and host not in _LOCAL_HOSTS:
        yield Error(
            "MCPDESK_DEMO is on and MCPDESK_URL is public: the demo's passwords are known.",
            hint="Unset MCPDESK_DEMO and start with `./desk up`.",
            id="mcpdesk.E009",
        )


def _mail() -> Iterator[CheckMessage]:
    if sends_mail() and not _is_address(settings.DEFAULT_FROM_EMAIL):
        yield Warning(
            f"{settings.DEFAULT_FROM_EMAIL} cannot be the sender of mail.",
            hint="Set MCPDESK_MAIL_FROM to an e-mail address, such as desk@example.org.",
            id="mcpdesk.W011",
        )
    secured = settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL
    by_smtp = settings.EMAIL_BACKEND.endswith(".smtp.EmailBackend")
    if by_smtp and not secured and settings.EMAIL_HOST not in _LOCAL_HOSTS:
        yield Warning(
            "EMAIL_URL sends mail to another machine in clear.",
            hint="Use smtp+tls:// (STARTTLS) or smtp+ssl:// where the mail server takes it.",
            id="mcpdesk.W012",
        )


def _metrics() -> Iterator[CheckMessage]:
    token = settings.METRICS_TOKEN
    if token and len(token) < _TOKEN_CHARS:
        yield Error(
            f"MCPDESK_METRICS_TOKEN has less than {_TOKEN_CHARS} characters: it can be guessed.",
            hint="Set it to 32 or more random characters, or unset it: then only this machine "
            "may ask for /metrics.",
            id="mcpdesk.E014",
        )


def _logs() -> Iterator[CheckMessage]:
    if settings.LOG_FORMAT not in FORMATS:
        yield Error(
            f"MCPDESK_LOG_FORMAT is {settings.LOG_FORMAT}, and no such format is known.",
            hint=f"Set it to {' or '.join(FORMATS)}.",
            id="mcpdesk.E015",
        )


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True
