"""What support looked at is an event in the log of the team whose rows they are."""

from datetime import datetime

from django.db import transaction

from mcpdesk.accounts.models import User
from mcpdesk.audit.log import Actor, record
from mcpdesk.audit.models import Channel, Event
from mcpdesk.audit.reading import ONE_READING


def note_list(user: User, team_id: int, what: str, now: datetime) -> None:
    """Put down that they list rows of this kind, unless that was put down a moment ago."""
    theirs = Event.objects.filter(team_id=team_id, kind="support.listed", actor=user)
    last = theirs.filter(data={"what": what}).order_by("-id").values_list("at", flat=True).first()
    if last is not None and now - last < ONE_READING:
        return
    with transaction.atomic():
        record("support.listed", team_id=team_id, actor=_support(user), now=now, what=what)


@transaction.atomic
def note_row(user: User, team_id: int, what: str, row: object, now: datetime) -> None:
    """Put down that they look at one row, each time."""
    actor = _support(user)
    record("support.looked", team_id=team_id, actor=actor, now=now, what=what, row=str(row))


def _support(user: User) -> Actor:
    return Actor(user, str(user), Channel.WEB)
