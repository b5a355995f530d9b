"""Removes the oldest part of a team's log: whole sealed batches, whose seals stay and say so."""

from collections.abc import Callable
from datetime import datetime

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team
from mcpdesk.audit import legal
from mcpdesk.audit.locks import be_alone_with_it, have_chain
from mcpdesk.audit.models import Event, Seal
from mcpdesk.audit.sealing import content_of
from mcpdesk.audit.signing import signer
from mcpdesk.audit.triggers import PRUNING


def prunable(team: Team, before: datetime) -> QuerySet[Seal]:
    """The seals whose events prune() would remove, oldest first.

    Those whose last event happened before that moment (UTC), up to the first that holds an event
    of an operation under a legal hold. None at all while the whole team is under one.
    """
    there = Seal.objects.filter(team=team, pruned_at__isnull=True, latest_at__lt=before)
    held = legal.held(team.pk)
    if held.everything:
        return there.none()
    mine = Event.objects.filter(team=team, operation_id__in=held.operations)
    first = mine.order_by("id").first()
    if first is not None:
        there = there.filter(last_event_id__lt=first.pk)
    return there.order_by("number")


def prune(
    team: Team,
    before: datetime,
    now: datetime | None = None,
    *,
    go_on: Callable[[], bool] = lambda: True,
    told: Callable[[int], object] = lambda events: None,
) -> int:
    """Remove the events of all prunable() batches; returns how many events that were.

    One transaction for each batch: `go_on` is asked before it, and `told` how many events it
    removes is part of it. Raises Refused where the log is being sealed at this moment: batches
    that went before that are gone.
    """
    removed = 0
    for number in list(prunable(team, before).values_list("number", flat=True)):
        if not go_on():
            break
        removed += _prune(team, number, before, now or timezone.now(), told)
    return removed


@transaction.atomic(durable=True)
def _prune(
    team: Team, number: int, before: datetime, now: datetime, told: Callable[[int], object]
) -> int:
    team_id = team.pk
    legal.keep_as_they_are(team_id)
    be_alone_with_it()
    if not have_chain(team_id):
        raise Refused("The log is being sealed just now. Try again in a moment.")
    # asked once more: somebody may have pruned it meanwhile, or begun a legal hold
    seal = prunable(team, before).filter(number=number).first()
    if seal is None:
        return 0
    content = content_of(seal)
    Seal.objects.filter(team_id=team_id, number=number).update(
        pruned_at=now, pruned_signature=signer().sign(content.pruning_bytes(now))
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [PRUNING, str(number)])
        # in one statement: the trigger refuses a batch that goes in parts
        cursor.execute(
            "DELETE FROM audit_event WHERE team_id = %s AND id BETWEEN %s AND %s",
            [team_id, content.first_event_id, content.last_event_id],
        )
        removed = int(cursor.rowcount)
        cursor.execute("SELECT set_config(%s, '', true)", [PRUNING])
    told(removed)
    return removed
