"""Who looked at the log, and what they had it do: reading it is itself an event."""

from datetime import datetime, timedelta

from django.db import transaction

from mcpdesk.accounts.access import Member
from mcpdesk.audit import passes
from mcpdesk.audit.log import Actor, record
from mcpdesk.audit.models import Event

#: Pages turned within this time are one reading.
ONE_READING = timedelta(minutes=15)


def note_reading(member: Member, now: datetime, actor: Actor | None = None) -> None:
    """Put down that this person reads the log, unless that was put down a moment ago.

    `actor`: where it is not the person in a browser: a token's person, or a service.
    """
    by = actor or Actor.person(member)
    theirs = Event.objects.filter(team_id=member.team_id, actor=by.user, actor_name=by.name)
    mine = theirs.filter(kind="audit.read")
    last = mine.order_by("-id").values_list("at", flat=True).first()
    if last is not None and now - last < ONE_READING:
        return
    with transaction.atomic():
        record("audit.read", team_id=member.team_id, actor=by, now=now)


@transaction.atomic
def note_file(member: Member, what: str, now: datetime) -> None:
    """Put down that this person takes seals or events out of the desk."""
    actor = Actor.person(member)
    record("audit.exported", team_id=member.team_id, actor=actor, now=now, what=what)


@transaction.atomic
def verify_now(member: Member, now: datetime) -> None:
    """Have the log verified from its beginning, by the next run."""
    passes.begin_again(member.team_id, now)
    record("audit.verify_asked", team_id=member.team_id, actor=Actor.person(member), now=now)
