"""Deletes what operations carried: a few at a time, in short transactions, each with its event."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction

from approvals.rebuild import rebuild
from mcpdesk.accounts.models import Team
from mcpdesk.audit import legal
from mcpdesk.audit.log import CLOCK, Actor, record
from mcpdesk.keeping.due import deletable
from mcpdesk.keeping.parts import PARTS, messages_about
from mcpdesk.notify import retention
from tasks_monitor.models import Operation

#: So few at once that nobody waits for the rows.
BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class Deleted:
    """How many operations one transaction took the payload of, and how many rows held it."""

    operations: int
    rows: int


@transaction.atomic(durable=True)
def delete_some(
    team: Team, before: datetime, now: datetime, *, days: int, actor: Actor = CLOCK
) -> Deleted:
    """Delete the payloads of the team's oldest operations that ended before that moment (UTC).

    None that is under a legal hold, which cannot begin until this is over. Operations that
    somebody holds locked are left for the next time. `days`: the team's retention, for the log.
    """
    legal.keep_as_they_are(team.pk)
    due = deletable(team.pk, before).order_by("finished_at", "pk")
    locked = due.select_for_update(of=("self",), no_key=True, skip_locked=True)
    ids = list(locked.values_list("pk", flat=True)[:BATCH])
    if not ids:
        return Deleted(0, 0)
    mine = Operation.objects.filter(pk__in=ids)
    retention.take_back(messages_about(mine), now)
    rows = sum(part.delete(mine) for part in PARTS)
    rebuild(ids)
    mine.update(payload_deleted_at=now)
    record(
        "retention.payloads_deleted",
        team_id=team.pk,
        actor=actor,
        now=now,
        operations=len(ids),
        rows=rows,
        days=days,
    )
    return Deleted(len(ids), rows)
