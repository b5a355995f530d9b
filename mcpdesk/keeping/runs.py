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
    """What a run deleted: the payloads of so many operations, and so many events of the log."""

    operations: int = 0
    events: int = 0


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
    """Delete what this team does not keep any longer as of `now` (aware UTC).

    `go_on` is asked before each transaction; once it says no, the rest waits for the next run.
    """
    kept = settings.of(team.pk)
    operations = events = 0
    if kept.payload_days is not None:
        operations = _delete_payloads(team, kept.payload_days, now, actor, go_on)
    if kept.log_days is not None:
        events = _prune_log(team, kept.log_days, now, actor, go_on)
    return Ran(operations, events)


def _delete_payloads(
    team: Team, days: int, now: datetime, actor: Actor, go_on: Callable[[], bool]
) -> int:
    operations = 0
    while go_on():
        deleted = delete_some(team, moment(days, now), now, days=days, actor=actor)
        if not deleted.operations:
            break
        operations += deleted.operations
    return operations


def _prune_log(
    team: Team, days: int, now: datetime, actor: Actor, go_on: Callable[[], bool]
) -> int:
    """Whole sealed batches, each with its event; their seals, which stay, say when they went."""
    gone: list[int] = []

    def told(events: int) -> None:
        gone.append(events)
        record(
            "retention.log_pruned",
            team_id=team.pk,
            actor=actor,
            now=now,
            events=events,
            days=days,
        )

    try:
        prune(team, moment(days, now), now, go_on=go_on, told=told)
    except Refused:
        logger.info("the log is being sealed: the rest of it is pruned next time")
    return sum(gone)
