"""Who waits for whom around the log. All locks last until the transaction ends.

Writers of events take nothing of their own: PostgreSQL gives each INSERT a ROW EXCLUSIVE lock on
the table until it commits, which is all that settled_up_to() needs.
"""

from django.db import OperationalError, connection, transaction
from django.db.models import Max

from mcpdesk.audit.models import Event

#: How long writers of events may be kept waiting by settled_up_to() (ms). Shorter than PostgreSQL's
#: deadlock_timeout (1 s), after which it would call off an autovacuum that stands in the way.
LOCK_MS = 500

# two-key advisory locks: the first says what it is about
_CHAIN = 0x6D63_7001
_REWRITE = 0x6D63_7002


class Busy(Exception):
    """Somebody has been writing an event for longer than LOCK_MS: look again later."""


def settled_up_to() -> int:
    """The id up to which no event can appear any more. Raises Busy.

    Ids are taken when an event is inserted, and seen when its transaction commits: a later id can
    be there while an earlier one is still to come. The lock waits for every transaction that has
    inserted, and keeps new ones from beginning to, for as long as it takes to read one number.
    """
    try:
        with transaction.atomic():
            wait_for_writers()
            return Event.objects.aggregate(last=Max("id"))["last"] or 0
    except OperationalError as error:
        raise Busy from error


def wait_for_writers() -> None:
    """Hold the table until the transaction ends, against everybody who writes events.

    Raises OperationalError where they are not done within LOCK_MS.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
        cursor.execute("LOCK TABLE audit_event IN SHARE MODE")
        cursor.execute("SET LOCAL lock_timeout = DEFAULT")


def have_chain(team_id: int) -> bool:
    """Whether this transaction is the one that adds to the team's chain of seals now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_CHAIN, team_id])
        return bool(cursor.fetchone()[0])


def keep_as_it_is() -> None:
    """Nothing is pruned or erased until this transaction ends; others may read beside it."""
    _lock("pg_advisory_xact_lock_shared")


def be_alone_with_it() -> None:
    """Wait until nobody verifies what this transaction is about to prune or erase."""
    _lock("pg_advisory_xact_lock")


def _lock(function: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s, 0)", [_REWRITE])
