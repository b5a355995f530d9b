"""A run of the retention: what every team's settings say is deleted now, team by team.

Rung by the clock, and by `./desk retention`. A run that is cut short has deleted what it has
deleted; the next one goes on with what is left. Two at once take different operations.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team
from mcpdesk.audit.log import CLOCK, Actor, record
from mcpdesk.audit.pruning import prune
from mcpdesk.keeping import settings
from mcpdesk.keeping.due import moment
from mcpdesk.keeping.payloads import delete_some

logger = logging.getLogger(__name__)

#: A run by the clock gives its worker back after so long (s).
MOST_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run deleted. `is_done` False: its time was over, and something may be left."""

    operations: int = 0
    events: int = 0
    is_done: bool = True


def run_all(now: datetime) -> None:
    """Every team that has a retention, for a limited time; a team that fails stops no other."""
    until = time.monotonic() + MOST_S
    for team in Team.objects.filter(retention__isnull=False).order_by("pk"):
        try:
            run(team, now, go_on=lambda: time.monotonic() < until)
        except Exception:
            logger.exception("the retention of a team could not be carried out")


def run(
    team: Team, now: datetime, *, actor: Actor = CLOCK, go_on: Callable[[], bool] = lambda: True
) -> Ran:
    """Delete what this team does not keep any longer as of `now` (aware UTC)."""
    kept = settings.of(team.pk)
    operations, is_done = _delete_payloads(team, kept.payload_days, now, actor, go_on)
    events = _prune_log(team, kept.log_days, now, actor) if kept.log_days is not None else 0
    return Ran(operations, events, is_done)


def _delete_payloads(
    team: Team, days: int | None, now: datetime, actor: Actor, go_on: Callable[[], bool]
) -> tuple[int, bool]:
    if days is None:
        return 0, True
    operations = 0
    while go_on():
        deleted = delete_some(team, moment(days, now), now, days=days, actor=actor)
        if not deleted.operations:
            return operations, True
        operations += deleted.operations
    return operations, False


def _prune_log(team: Team, days: int, now: datetime, actor: Actor) -> int:
    """Whole sealed batches; their seals, which stay and are signed, say when they went."""
    try:
        events = prune(team, moment(days, now), now)
    except Refused:
        logger.info("the log is being sealed: it is pruned next time")
        return 0
    if events:
        with transaction.atomic():
            record(
                "retention.log_pruned",
                team_id=team.pk,
                actor=actor,
                now=now,
                events=events,
                days=days,
            )
    return events
