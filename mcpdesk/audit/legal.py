"""Legal holds: what must not be deleted, pruned or erased now, and the lock that makes sure of it.

Whoever deletes holds a team's lock shared from before it looks until it commits; whoever begins or
ends a hold, or erases a person, takes it alone. So what was deleted before a hold began was deleted
before it, and nothing of it goes afterwards.
"""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import OuterRef, Q, QuerySet

from mcpdesk.audit.models import LegalHold

# two-key advisory locks (locks.py has the others); the second key is the team
_LEGAL = 0x6D63_7003

ON = Q(ended_at__isnull=True)


@dataclass(frozen=True, slots=True)
class Held:
    """What of a team is under a legal hold: everything, or these operations."""

    everything: bool
    operations: frozenset[UUID]

    def __bool__(self) -> bool:
        return self.everything or bool(self.operations)


def held(team_id: int) -> Held:
    """What is under a hold as of now; one query."""
    ids = set(in_force(team_id).values_list("operation_id", flat=True))
    return Held(None in ids, frozenset(pk for pk in ids if pk is not None))


def in_force(team_id: int) -> QuerySet[LegalHold]:
    """The team's holds that are on."""
    return LegalHold.objects.filter(ON, team_id=team_id)


def over_operations() -> QuerySet[LegalHold]:
    """The holds over an operation of an outer query, its team's among them."""
    mine = Q(operation_id__isnull=True) | Q(operation_id=OuterRef("pk"))
    return LegalHold.objects.filter(ON, mine, team_id=OuterRef("team_id"))


def keep_as_they_are(team_id: int) -> None:
    """No hold of the team begins or ends until this transaction ends: first of all it does."""
    _lock("pg_advisory_xact_lock_shared", team_id)


def wait_for_deletions(team_id: int) -> None:
    """Until whoever deletes something of the team has committed; who comes later waits for us."""
    _lock("pg_advisory_xact_lock", team_id)


def _lock(function: str, team_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s, %s::int)", [_LEGAL, team_id])
