"""Takes a person's names out of the log, and leaves its seals whole."""

from django.db import connection, transaction
from django.db.models import Max

from mcpdesk.accounts.models import User
from mcpdesk.audit.locks import be_alone_with_it, wait_for_writers
from mcpdesk.audit.models import Event
from mcpdesk.audit.triggers import ERASING

_ERASE = """
UPDATE audit_event e
SET (actor_name, data) = (SELECT n.actor_name, n.data FROM audit_erased(e, %(user)s) n)
WHERE e.id > %(after)s AND (e.actor_id = %(user)s OR jsonb_path_exists(e.data,
    '$.keyvalue() ? (@.key like_regex "_id$" && @.value == $user)',
    jsonb_build_object('user', %(user)s::bigint)))
"""
_NAMES = """
SELECT actor_name FROM audit_event WHERE actor_id = %(user)s
UNION
SELECT data ->> left(key, -3) FROM audit_event, jsonb_each(data)
WHERE right(key, 3) = '_id' AND value = to_jsonb(%(user)s::bigint)
"""


def names_in_log(user: User) -> set[str]:
    """Every name that the person has in an event, as who did something or as whom it was about.

    It reads every event once.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NAMES, {"user": user.pk})
        return {name for (name,) in cursor.fetchall() if name}


@transaction.atomic
def erase_names(user: User) -> int:
    """Put commitments in place of a person's names in all teams' events, and forget the salt.

    Returns how many events it changed; a second time, none. One transaction, part of the caller's
    if there is one. It reads every event once, and lets others write meanwhile; they are held back
    only while it looks at what was written in that time. Raises OperationalError where somebody
    has been writing an event for longer than locks.LOCK_MS then: nothing was erased.
    """
    be_alone_with_it()
    locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if locked.log_salt is None:
        return 0
    last = Event.objects.aggregate(last=Max("id"))["last"] or 0
    erased = _erase(user.pk, 0)
    wait_for_writers()
    erased += _erase(user.pk, last)
    User.objects.filter(pk=user.pk).update(log_salt=None)
    user.log_salt = None
    return erased


def _erase(user_id: int, after: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [ERASING, str(user_id)])
        cursor.execute(_ERASE, {"user": user_id, "after": after})
        changed = int(cursor.rowcount)
        cursor.execute("SELECT set_config(%s, '', true)", [ERASING])
    return changed
