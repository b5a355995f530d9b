"""Legal holds: an admin says that nothing of the team, or of one operation, may go, and why."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team
from mcpdesk.audit import legal
from mcpdesk.audit.admins import locked_for
from mcpdesk.audit.log import Actor, record
from mcpdesk.audit.models import LegalHold
from mcpdesk.mcp.jsontext import storable
from tasks_monitor.models import Operation

MAX_REASON_CHARS: Final = 500
NEEDS_REASON = f"Say why, in at most {MAX_REASON_CHARS} characters. Nothing was changed."
NO_SUCH_OPERATION = "The team has no such operation. Nothing was changed."


@transaction.atomic(durable=True)
def begin(
    team: Team, operation_id: UUID | None, *, reason: str, actor: Actor, now: datetime
) -> LegalHold:
    """From now on nothing of this operation, or of the whole team (None), is deleted.

    Waits for whoever deletes something at this moment. Raises Refused and PermissionDenied.
    """
    if actor.user is None:
        raise ValueError("a person begins a legal hold")
    _wait(team, actor)
    _check_reason(reason)
    if operation_id is not None and not _is_there(team, operation_id):
        raise Refused(NO_SUCH_OPERATION)
    same = legal.in_force(team.pk).filter(operation_id=operation_id).select_related("begun_by")
    earlier = same.first()
    if earlier is not None:
        raise Refused(f"{earlier.begun_by} began this very hold already. Nothing was changed.")
    hold = LegalHold.objects.create(
        team=team,
        operation_id=operation_id,
        reason=reason.strip(),
        since=now,
        begun_by=actor.user,
    )
    _note("legal_hold.begun", hold, actor, now)
    return hold


@transaction.atomic(durable=True)
def end(hold_id: int, *, team: Team, reason: str, actor: Actor, now: datetime) -> LegalHold:
    """What the hold kept goes with the next run, unless another hold keeps it.

    Both reasons stay with it. Raises Refused, PermissionDenied, and LegalHold.DoesNotExist for
    another team's.
    """
    _wait(team, actor)
    hold = LegalHold.objects.select_related("ended_by").get(pk=hold_id, team=team)
    _check_reason(reason)
    if hold.ended_at is not None:
        raise Refused(f"This hold is over already: {hold.ended_by} ended it.")
    hold.ended_at, hold.ended_by = now, actor.user
    hold.end_reason = reason.strip()
    hold.save(update_fields=["ended_at", "ended_by", "end_reason"])
    _note("legal_hold.ended", hold, actor, now)
    return hold


def of_operation(operation: Operation) -> QuerySet[LegalHold]:
    """The holds that keep this operation now, the whole team's among them."""
    mine = legal.in_force(operation.team_id).select_related("begun_by")
    return mine.filter(operation_id=operation.pk) | mine.filter(operation_id__isnull=True)


def _wait(team: Team, actor: Actor) -> None:
    """Until nobody deletes, for an admin of the team. Raises PermissionDenied.

    Its row comes last: what deletes takes its time, and other admins go on meanwhile.
    """
    legal.wait_for_deletions(team.pk)
    locked_for(actor, team.pk)


def _is_there(team: Team, operation_id: UUID) -> bool:
    return Operation.objects.filter(pk=operation_id, team=team).exists()


def _check_reason(reason: str) -> None:
    if not 0 < len(reason.strip()) <= MAX_REASON_CHARS or not storable(reason):
        raise Refused(NEEDS_REASON)


def _note(kind: str, hold: LegalHold, actor: Actor, now: datetime) -> None:
    record(
        kind,
        team_id=hold.team_id,
        operation_id=hold.operation_id,
        actor=actor,
        now=now,
        scope="one operation" if hold.operation_id else "the whole team",
    )
