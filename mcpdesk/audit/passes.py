"""Verification that goes on by itself: each team's log from its beginning once a day, and each new
seal soon after it was made. The row of a team says how far that came.

Rung by the clock. One run verifies for a few seconds; the next one goes on where it stopped.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from mcpdesk.accounts.models import Team
from mcpdesk.audit.chain import BEGINNING
from mcpdesk.audit.findings import Finding
from mcpdesk.audit.lines import seals_of
from mcpdesk.audit.models import Seal, Verification
from mcpdesk.audit.sealing import content_of
from mcpdesk.audit.signals import log_is_not_whole
from mcpdesk.audit.verifying import BEGIN, Anchor, Place, Step, anchor_fault, next_step

logger = logging.getLogger(__name__)

#: How often a log is verified from its beginning.
EVERY = timedelta(days=1)
#: How long one run works (s): other wake-ups of the worker wait behind it.
RUN_S = 5.0


def go_on(clock: Callable[[], datetime], run_s: float = RUN_S) -> None:
    """Verify every team's log further, for about `run_s` in all."""
    until = time.monotonic() + run_s
    for team in _waiting(clock()):
        try:
            while verify_further(team.pk, clock()) and time.monotonic() < until:
                pass
        except Exception:
            # what somebody did to one log must not keep the others from being looked at
            logger.exception("the log of team %s could not be verified", team.pk)


def begin_again(team_id: int, now: datetime) -> None:
    """Have the log verified from its beginning, now and not once its day is over."""
    Verification.objects.update_or_create(team_id=team_id, defaults=_beginning(now))


def anything_due() -> bool:
    """Whether a pass is under way that go_on() would take further."""
    return Verification.objects.filter(finished_at__isnull=True).exists()


@transaction.atomic
def verify_further(team_id: int, now: datetime) -> bool:
    """Take one step through a team's log; False: there is nothing behind it now."""
    row, _ = Verification.objects.get_or_create(team_id=team_id, defaults=_beginning(now))
    mine = Verification.objects.select_for_update(skip_locked=True, no_key=True)
    found = mine.filter(pk=row.pk).first()
    if found is None:
        return False
    seal = _reached(found)
    is_gone = seal is None and found.number > 0
    is_due = found.finished_at is not None and now - found.begun_at >= EVERY
    if is_gone or is_due:
        _set(found, _beginning(now))
        seal = None
    step = next_step(team_id, _place(found, seal))
    _note(found, step, now)
    found.save()
    return not step.is_last


def _waiting(now: datetime) -> list[Team]:
    """Teams with a seal that this pass has not come to, or whose next pass is due."""
    new = Seal.objects.filter(team_id=OuterRef("pk"), number__gt=OuterRef("verification__number"))
    never = Exists(Seal.objects.filter(team_id=OuterRef("pk"))) & Q(verification__isnull=True)
    under_way = Q(verification__finished_at__isnull=True, verification__isnull=False)
    due = Q(verification__begun_at__lte=now - EVERY)
    return list(Team.objects.filter(never | under_way | due | Exists(new)).order_by("pk"))


def _beginning(now: datetime) -> dict[str, object]:
    return {
        "begun_at": now,
        "number": 0,
        "events": 0,
        "finished_at": None,
        # what was found before is said until this pass has come to the end without it
        "findings": 0,
    }


def _set(row: Verification, values: dict[str, object]) -> None:
    for name, value in values.items():
        setattr(row, name, value)


def _reached(row: Verification) -> Seal | None:
    """The seal that the pass came to last; None: none yet, or it is gone."""
    return seals_of(row.pk).filter(number=row.number).first()


def _place(row: Verification, seal: Seal | None) -> Place:
    if seal is None:
        return BEGIN
    # behind something wrong, the next seal's link is not held against it
    digest = None if row.findings else content_of(seal).digest()
    return Place(seal.number, digest, seal.last_event_id, row.events, 0, seal.sealed_at)


def _note(row: Verification, step: Step, now: datetime) -> None:
    """What the step came to, and whether the log is whole further than it was known to be."""
    lost = _lost(row, step)
    findings = [*step.findings, *([lost] if lost else [])]
    if findings and not row.findings:
        row.finding = str(findings[0])[:500]
        log_is_not_whole.send(Verification, team_id=row.pk, sentence=row.finding, now=now)
    row.findings += step.found + bool(lost)
    row.number, row.events = step.place.number, step.place.events
    if step.is_last:
        row.finished_at = row.finished_at or now
        row.finding = row.finding if row.findings else ""
    if not row.findings and row.number >= row.verified_number and row.number:
        row.verified_number, row.verified_digest = row.number, step.place.digest or BEGINNING
        row.verified_to, row.verified_at = step.place.sealed_at, now


def _lost(row: Verification, step: Step) -> Finding | None:
    """A log that ends before a seal that was verified once, or has another one there now."""
    number = row.verified_number
    came_to_it = row.number < number <= step.place.number
    ended_before = step.is_last and step.place.number < number
    if not came_to_it and not ended_before:
        return None
    return anchor_fault(row.pk, Anchor(number, bytes(row.verified_digest)))
