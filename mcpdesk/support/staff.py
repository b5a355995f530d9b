"""The verbs of `./desk support_staff`: who is support staff. No page can do that."""

from datetime import datetime

from django.db import transaction

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team, User
from mcpdesk.audit.log import Actor, record
from mcpdesk.audit.models import Channel

_COMMAND = Actor(None, "The desk", Channel.COMMAND)


@transaction.atomic(durable=True)
def add(email: str, now: datetime) -> User:
    """Make somebody with an account support staff. Raises Refused."""
    user = _locked(email)
    if not user.is_active:
        raise Refused(f"{user.email} is deactivated.")
    if user.is_staff:
        raise Refused(f"{user.email} is support staff already.")
    _set(user, True, "support.staff_added", now)
    return user


@transaction.atomic(durable=True)
def remove(email: str, now: datetime) -> User:
    """Support staff no more, from the next request on. Raises Refused."""
    user = _locked(email)
    if not user.is_staff:
        raise Refused(f"{user.email} is not support staff.")
    _set(user, False, "support.staff_removed", now)
    return user


def _locked(email: str) -> User:
    user = User.objects.select_for_update(no_key=True).filter(email__iexact=email.strip()).first()
    if user is None:
        raise Refused(f"Nobody has an account with the address {email}.")
    return user


def _set(user: User, is_staff: bool, kind: str, now: datetime) -> None:
    """Any team may let them look, so each of them gets the event."""
    user.is_staff = is_staff
    user.save(update_fields=["is_staff"])
    for team_id in Team.objects.order_by("pk").values_list("pk", flat=True):
        record(kind, team_id=team_id, actor=_COMMAND, now=now, person=user)
