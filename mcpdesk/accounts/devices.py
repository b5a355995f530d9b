"""Which browsers a person is signed in with: django-allauth's rows of sessions, kept true.

A row is made when somebody signs in, whatever way, and says when the session was last used. What
gives access stays the session itself (mcpdesk.accounts.sessions); a row without one is nothing.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from allauth.account.adapter import get_adapter
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef
from django.http import HttpRequest

from mcpdesk.accounts.models import User
from mcpdesk.accounts.sessions import belongs_to

#: How true "last used" is (s): one process writes it no more often for one session.
APART_S: Final = 300.0
#: Sessions that one process remembers to have written.
_MOST: Final = 10_000
#: An address that the server was not told.
_NOWHERE: Final = "0.0.0.0"  # noqa: S104 - nothing listens there

_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True)
class Device:
    """One session of a person, as it is shown. Times are UTC; `address`: empty, not known."""

    pk: int
    name: str
    address: str
    begun_at: datetime
    last_used_at: datetime
    is_this: bool


def begin(request: HttpRequest, user: User, now: datetime) -> None:
    """Somebody has just signed in: their session gets its row."""
    key = request.session.session_key
    values = {
        "user": user,
        "ip": _address(request),
        "user_agent": request.META.get("HTTP_USER_AGENT", "")[: _most_characters()],
        "created_at": now,
        "last_seen_at": now,
    }
    UserSession.objects.update_or_create(session_key=key, defaults=values)
    _written.is_due(key or "")


def note_use(request: HttpRequest, user: User, now: datetime) -> None:
    """The session of this request is in use; written down now and then (APART_S)."""
    key = request.session.session_key
    if not key or not _written.is_due(key):
        return
    if not UserSession.objects.filter(session_key=key, user=user).update(last_seen_at=now):
        begin(request, user, now)  # it is from before sessions had rows


def devices_of(user: User, now: datetime, this: str | None = None) -> list[Device]:
    """The sessions with which this person is signed in, the last used first, in two queries.

    `this`: the key of the session that asks.
    """
    rows = list(UserSession.objects.filter(user=user).order_by("-last_seen_at", "-pk"))
    keys = [row.session_key for row in rows]
    stored = Session.objects.filter(session_key__in=keys, expire_date__gt=now)
    standing = {one.session_key for one in stored if belongs_to(user, one)}
    return [_device(row, this) for row in rows if row.session_key in standing]


def end(keys: Iterable[str]) -> None:
    """End these sessions: whoever comes with one is nobody, from now on."""
    ended = list(keys)
    Session.objects.filter(session_key__in=ended).delete()
    UserSession.objects.filter(session_key__in=ended).delete()


def end_all(user: User) -> None:
    """End every session that this person is known to have."""
    end(UserSession.objects.filter(user=user).values_list("session_key", flat=True))


def sweep(now: datetime) -> None:
    """Delete sessions that have ended, and rows whose session is gone."""
    Session.objects.filter(expire_date__lte=now).delete()
    theirs = Session.objects.filter(session_key=OuterRef("session_key"))
    UserSession.objects.filter(~Exists(theirs)).delete()


def called(user_agent: str) -> str:
    """A browser by what it says of itself, such as "Firefox on Linux"."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), "A browser")
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), "")
    return f"{browser} on {system}" if system else browser


def _device(row: Any, this: str | None) -> Device:
    return Device(
        pk=row.pk,
        name=called(row.user_agent),
        address="" if row.ip == _NOWHERE else str(row.ip),
        begun_at=row.created_at,
        last_used_at=row.last_seen_at,
        is_this=row.session_key == this,
    )


def _most_characters() -> int:
    return int(UserSession._meta.get_field("user_agent").max_length)


def _address(request: HttpRequest) -> str:
    """The address as the limits on sign-in know it."""
    try:
        return str(get_adapter(request).get_client_ip(request))
    except PermissionDenied:
        return _NOWHERE


class _Written:
    """When this process last wrote down each session; what it forgets is only written again."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_due(self, key: str) -> bool:
        """Whether to write now; from then on it counts as written."""
        now = time.monotonic()
        with self._lock:
            if now - self._at.get(key, -APART_S) < APART_S:
                return False
            if len(self._at) >= _MOST:
                self._at.clear()
            self._at[key] = now
            return True


_written = _Written()
