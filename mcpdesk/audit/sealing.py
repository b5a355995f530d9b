"""Seals what has happened: closes a team's events in batches, each signed and chained to the last.

Rung by the clock. Several at once do no harm: one of them has the chain of a team at a time, and
the number of a seal is unique.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime

from django.db import transaction
from django.db.models import BigIntegerField, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from mcpdesk.accounts.models import Team
from mcpdesk.audit.canonical import Line, event_hash
from mcpdesk.audit.chain import BATCH, BEGINNING, Content, pack, root_of
from mcpdesk.audit.lines import lines, salts
from mcpdesk.audit.locks import Busy, have_chain, settled_up_to
from mcpdesk.audit.models import Event, Seal
from mcpdesk.audit.signing import Signer, signer

logger = logging.getLogger(__name__)

#: One run makes at most so many seals; the clock rings again for the rest.
MOST_IN_A_RUN = 200

Settled = Callable[[], int]

# the columns of a seal that its signature covers
_COLUMNS = tuple(Content.__dataclass_fields__)


def seal_due(now: datetime, *, settled: Settled = settled_up_to) -> int:
    """Seal what every team has that is not sealed yet; returns how many seals were made.

    `now` is aware UTC. Each seal is one short transaction of its own.
    """
    try:
        up_to = settled()
    except Busy:
        logger.info("somebody is writing events: the log is sealed a little later")
        return 0
    made = 0
    for team in _unsealed(up_to):
        try:
            while made < MOST_IN_A_RUN and seal_next(team.pk, up_to, now) is not None:
                made += 1
        except Exception:
            # what somebody did to one chain must not keep the others open
            logger.exception("the log of team %s could not be sealed", team.pk)
    return made


def full_batch_waits() -> bool:
    """Whether some team has as many unsealed events as one seal holds."""
    mine = Event.objects.filter(team_id=OuterRef("pk"), id__gt=OuterRef("sealed_to"))
    nth = mine.order_by("id").values("id")[BATCH - 1 : BATCH]
    return _teams().annotate(nth=Subquery(nth)).filter(nth__isnull=False).exists()


@transaction.atomic
def seal_next(team_id: int, up_to: int, now: datetime) -> Seal | None:
    """Make the team's next seal, over its first unsealed events with ids up to `up_to`.

    None: there is none, or somebody else is at it.
    """
    if not have_chain(team_id):
        return None
    last = Seal.objects.filter(team_id=team_id).order_by("-number").first()
    after = last.last_event_id if last else None
    batch = list(lines(team_id, after, up_to, BATCH))
    if not batch:
        return None
    return _seal(batch, last, now, signer())


def _seal(batch: list[Line], last: Seal | None, now: datetime, signer: Signer) -> Seal:
    known = salts()
    times = sorted(_times(batch)) or [now]
    hashes = [(line.id, event_hash(line, known)) for line in batch]
    content = Content(
        team_id=batch[0].team_id,
        number=last.number + 1 if last else 1,
        first_event_id=batch[0].id,
        last_event_id=batch[-1].id,
        event_count=len(batch),
        earliest_at=times[0],
        latest_at=times[-1],
        sealed_at=now,
        root=root_of(full for _, full in hashes),
        lines=pack(hashes),
        previous=content_of(last).digest() if last else BEGINNING,
        key_id=signer.key_id,
    )
    return Seal.objects.create(
        **{name: getattr(content, name) for name in _COLUMNS},
        signature=signer.sign(content.signed_bytes()),
    )


def _times(batch: list[Line]) -> Iterator[datetime]:
    """When the events happened; what is no time that Python holds is none of the desk's making, and
    is sealed as it stands.
    """
    for line in batch:
        # of infinity there is no text at all
        with suppress(ValueError, TypeError):
            yield datetime.fromisoformat(line.at)


def content_of(seal: Seal) -> Content:
    """What the row of a seal says."""
    values = {name: getattr(seal, name) for name in _COLUMNS}
    for name in ("root", "lines", "previous"):
        values[name] = bytes(values[name])
    return Content(**values)


def _teams() -> QuerySet[Team]:
    """Every team, with the id up to which its events are sealed."""
    latest = Seal.objects.filter(team_id=OuterRef("pk")).order_by("-number")
    sealed_to = Subquery(latest.values("last_event_id")[:1], output_field=BigIntegerField())
    return Team.objects.annotate(sealed_to=Coalesce(sealed_to, 0))


def _unsealed(up_to: int) -> list[Team]:
    new = Event.objects.filter(team_id=OuterRef("pk"), id__gt=OuterRef("sealed_to"), id__lte=up_to)
    return list(_teams().filter(Exists(new)).order_by("pk"))
