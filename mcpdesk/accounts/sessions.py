"""Which team a session looks at, and whether a session still stands: for requests and sockets."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum, auto
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils.crypto import constant_time_compare

from mcpdesk.accounts.access import Member, memberships_of
from mcpdesk.accounts.models import User

#: The session's entry that keeps the chosen team.
TEAM_KEY = "team_id"


class Fallen(StrEnum):
    """Why a session gives no access (any more)."""

    SIGNED_OUT = auto()  # signed out, expired, password changed, deactivated
    NO_TEAM = auto()


def chosen(memberships: list[Member], session: Mapping[str, Any]) -> Member | None:
    """The membership the session chose; else the first by name; None without any."""
    wanted = session.get(TEAM_KEY)
    return next((m for m in memberships if m.team_id == wanted), next(iter(memberships), None))


def standing(session_key: str | None, now: datetime) -> Member | Fallen:
    """The member behind a session as of `now` (aware UTC), read afresh.

    Three small queries by key; needs the database session engine.
    """
    row = Session.objects.filter(session_key=session_key, expire_date__gt=now).first()
    if row is None:
        return Fallen.SIGNED_OUT
    data = row.get_decoded()
    user = User.objects.filter(pk=data.get(SESSION_KEY) or 0, is_active=True).first()
    if user is None or not _same_password(user, data):
        return Fallen.SIGNED_OUT
    return chosen(memberships_of(user), data) or Fallen.NO_TEAM


def belongs_to(user: User, session: Session) -> bool:
    """Whether this stored session is one of this person that still stands, but for its end."""
    data = session.get_decoded()
    return data.get(SESSION_KEY) == str(user.pk) and _same_password(user, data)


def _same_password(user: User, data: Mapping[str, Any]) -> bool:
    return constant_time_compare(data.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
