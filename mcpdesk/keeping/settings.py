"""What a team's admins set: for how many days payloads and the log are kept."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team
from mcpdesk.audit.admins import locked_for
from mcpdesk.audit.log import Actor, record
from mcpdesk.audit.models import Retention

#: The least that can be set: time to see what a call came to, and to answer for it.
MIN_PAYLOAD_DAYS: Final = 7
MIN_LOG_DAYS: Final = 90
MAX_DAYS: Final = 36_500
FOR_EVER: Final = "for ever"


@dataclass(frozen=True, slots=True)
class Kept:
    """Days that a team keeps payloads, after their operation ended, and its log; None: for ever."""

    payload_days: int | None = None
    log_days: int | None = None


def of(team_id: int) -> Kept:
    """What the team keeps now."""
    row = Retention.objects.filter(team_id=team_id).first()
    return Kept(row.payload_days, row.log_days) if row else Kept()


@transaction.atomic(durable=True)
def change(team: Team, kept: Kept, *, actor: Actor, now: datetime) -> bool:
    """Keep things for so long from now on; whether that was another time than before.

    Raises Refused below the least and above the most, and PermissionDenied. Nothing is deleted
    here.
    """
    check(kept)
    locked_for(actor, team.pk)
    before = of(team.pk)
    if before == kept:
        return False
    columns = {"payload_days": kept.payload_days, "log_days": kept.log_days}
    Retention.objects.update_or_create(team=team, defaults=columns)
    record(
        "retention.changed",
        team_id=team.pk,
        actor=actor,
        now=now,
        payloads=in_words(kept.payload_days),
        log=in_words(kept.log_days),
        payloads_before=in_words(before.payload_days),
        log_before=in_words(before.log_days),
    )
    return True


def check(kept: Kept) -> None:
    """Refuse what is too short or too long."""
    _check("Payloads are", kept.payload_days, MIN_PAYLOAD_DAYS)
    _check("The log is", kept.log_days, MIN_LOG_DAYS)


def in_words(days: int | None) -> str:
    """So many days as people read it."""
    return FOR_EVER if days is None else f"{days} days"


def _check(what: str, days: int | None, least: int) -> None:
    if days is not None and not least <= days <= MAX_DAYS:
        raise Refused(f"{what} kept for {least} to {MAX_DAYS:,} days, or for ever.")
