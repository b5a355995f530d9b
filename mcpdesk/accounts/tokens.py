"""Keys to the API: how they look, what each may, and who stands behind one.

A token is `mdk_`, 32 random letters and digits (190 bits), and a check sum of six: what scans
repositories for secrets can tell a real one from a look-alike, and a mistyped one costs no query.
"""

import hashlib
import secrets
import string
import zlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.db import models
from django.db.models import QuerySet

from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.models import ApiToken

PREFIX: Final = "mdk_"
_LETTERS: Final = string.digits + string.ascii_letters
_RANDOM_CHARS: Final = 32
_SUM_CHARS: Final = 6
#: The part that is shown for ever, by which people tell tokens apart.
_SHOWN_CHARS: Final = 10
#: last_used_at is written at most this often.
_USED_APART: Final = timedelta(minutes=1)


class Scope(models.TextChoices):
    """What a token may be used for; what its person or service may not, it never can."""

    READ = "read", "Read operations, approvals, servers and tools"
    START = "start", "Start operations, and adopt tasks"
    CANCEL = "cancel", "Ask for cancellation"
    DECIDE = "decide", "Decide approvals put to you"
    EXPORT = "export", "Read the log, and export lists"
    REPAIR = "repair", "Say what becomes of lost, stuck and unknown operations"


#: The permission that each scope stands on.
NEEDS: Final = {
    Scope.READ: Permission.SEE_OPERATIONS,
    Scope.START: Permission.OPERATE,
    Scope.CANCEL: Permission.OPERATE,
    Scope.DECIDE: Permission.DECIDE,
    Scope.EXPORT: Permission.READ_HISTORY,
    Scope.REPAIR: Permission.RECONCILE,
}


class State(StrEnum):
    """How a token stands now, in the words of the pages."""

    ACTIVE = "Active"
    EXPIRED = "Expired"
    REVOKED = "Revoked"
    ASLEEP = "Its person is not in the team"


def scopes_of(member: Member) -> list[Scope]:
    """The scopes that a token of this member, or service, can have now."""
    return [scope for scope, permission in NEEDS.items() if member.may(permission)]


def new_secret() -> str:
    """A token nobody else has; its digest is what is kept."""
    body = "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM_CHARS))
    return f"{PREFIX}{body}{_check_sum(body)}"


def shown_part(secret: str) -> str:
    return secret[:_SHOWN_CHARS]


def digest(secret: str) -> str:
    """SHA-256, hex."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_well_formed(secret: str) -> bool:
    """Whether it can be a token at all."""
    body = secret[len(PREFIX) : -_SUM_CHARS]
    return (
        secret.startswith(PREFIX)
        and len(body) == _RANDOM_CHARS
        and set(body) <= set(_LETTERS)
        and secret.endswith(_check_sum(body))
    )


def find(secret: str, now: datetime) -> ApiToken | None:
    """The token that opens doors at `now` (UTC), and whose person may still come in."""
    if not is_well_formed(secret):
        return None
    tokens = ApiToken.objects.select_related("team", "user")
    token = tokens.filter(digest=digest(secret)).first()
    return token if token is not None and _is_valid(token, now) else None


def as_of(token: ApiToken, now: datetime) -> ApiToken | None:
    """The same token, read again: None where it opens nothing any more."""
    again = ApiToken.objects.select_related("team", "user").filter(pk=token.pk).first()
    return again if again is not None and _is_valid(again, now) else None


def holder(token: ApiToken, now: datetime) -> Member | None:
    """Whoever acts by a token, as of `now`: its service, or its person in its team; None: nobody
    any more.
    """
    if token.user is None:
        return access.service_in(token.team, token.name)
    return access.member_in(token.user, token.team_id, now)


def of_services(member: Member) -> QuerySet[ApiToken]:
    """The tokens of the team's services by name, with those that open nothing any more; for whoever
    sees tokens: admins.
    """
    if not member.may(Permission.ADMINISTER):
        return ApiToken.objects.none()
    theirs = ApiToken.objects.filter(team=member.team_id, user__isnull=True)
    return theirs.order_by("name", "-created_at")


def allows(token: ApiToken, scope: Scope) -> bool:
    """Whether the token was made for this; a service never does what takes a person, whatever its
    row says.
    """
    return scope in token.scopes and (token.user_id is not None or NEEDS[scope] in access.SERVICE)


def note_use(token: ApiToken, now: datetime) -> None:
    """Keep when it was last used, to the minute."""
    if token.last_used_at is None or now - token.last_used_at >= _USED_APART:
        minute = now.replace(second=0, microsecond=0)
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=minute)


def state(token: ApiToken, now: datetime, in_team: bool = True) -> State:
    """How it stands; `in_team`: its person, if it has one, is an active member."""
    if token.revoked_at is not None:
        return State.REVOKED
    if not _is_valid(token, now):
        return State.EXPIRED
    return State.ACTIVE if in_team else State.ASLEEP


def _is_valid(token: ApiToken, now: datetime) -> bool:
    ended = token.expires_at is not None and token.expires_at <= now
    return token.revoked_at is None and not ended


def _check_sum(body: str) -> str:
    """CRC-32 of the random part, in six letters and digits."""
    number, letters = zlib.crc32(body.encode()), []
    for _ in range(_SUM_CHARS):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)
