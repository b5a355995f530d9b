"""Looks for what lasts too long: ends that did not come, servers out of reach, messages given up.

What is found is an alert, and one that somebody has seen to does not come back while it lasts. What
is over is closed here too, whatever else was to close it.
"""

import logging
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.urls import reverse

from mcpdesk.notify import dead
from mcpdesk.notify.alerts import close_alert, raise_alert
from mcpdesk.notify.models import Alert
from tasks_monitor.engine.expect import RUNNING
from tasks_monitor.engine.rows import lock
from tasks_monitor.engine.telling import late, out_of_reach, raise_late
from tasks_monitor.models import Operation, Server

logger = logging.getLogger(__name__)

#: How often the clock looks (s).
EVERY_S: Final = 10.0
#: A server that is out of reach for longer is a matter for somebody.
OUT_OF_REACH: Final = timedelta(minutes=5)
BATCH: Final = 200


def look(now: datetime) -> None:
    """Raise what is one, close what is none any more. `now` is aware UTC.

    A fault in one kind keeps the others, and the clock, going.
    """
    for find in (_late, _not_late, _out_of_reach, _in_reach, dead.look):
        try:
            find(now)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            logger.exception("could not look for what lasts too long (%s)", find.__name__)


def _late(now: datetime) -> None:
    overdue = Operation.objects.filter(
        state__in=RUNNING, finished_at__isnull=True, expected_by__lte=now
    )
    new = overdue.filter(~_alerted("late:", "expected_by"))
    for pk in new.values_list("pk", flat=True)[:BATCH]:
        _raise_late(pk, now)


def _alerted(kind: str, began: str) -> Exists:
    """alerts.is_known() as a condition on rows: of this kind, since the row's column `began`."""
    matter = Concat(Value(kind), Cast(OuterRef("pk"), CharField()))
    known = Q(closed_at__isnull=True) | Q(closed_at__gte=OuterRef(began), closed_by__isnull=False)
    return Exists(Alert.objects.filter(known, team_id=OuterRef("team_id"), matter=matter))


@transaction.atomic
def _raise_late(pk: Any, now: datetime) -> None:
    operation = lock(pk)
    expected = operation.expected_by
    if operation.state in RUNNING and expected is not None and expected <= now:
        raise_late(operation, now)


def _not_late(now: datetime) -> None:
    """It ended, or an answer of ours gave it more time."""
    ids = [alert.matter.partition(":")[2] for alert in _open("late")]
    overdue = Operation.objects.filter(pk__in=ids, finished_at__isnull=True, expected_by__lte=now)
    still = {late(operation) for operation in overdue.only("pk")}
    _close_all("late", still, now)


def _out_of_reach(now: datetime) -> None:
    since = now - OUT_OF_REACH
    away = Server.objects.filter(paused=False, unreachable_since__lte=since)
    new = away.filter(~_alerted("unreachable:", "unreachable_since"))
    for pk in new.values_list("pk", flat=True):
        _raise_out_of_reach(pk, since, now)


@transaction.atomic
def _raise_out_of_reach(pk: int, since: datetime, now: datetime) -> None:
    rows = Server.objects.select_for_update(no_key=True)
    server = rows.only("team_id", "name", "paused", "unreachable_since").get(pk=pk)
    began = server.unreachable_since
    if server.paused or began is None or began > since:
        return
    sentence = (
        f"{server.name} cannot be reached since {began:%Y-%m-%d %H:%M} UTC: "
        "what is to be sent to it waits."
    )
    raise_alert(server.team_id, out_of_reach(pk), sentence, now, path=reverse("server", args=[pk]))


def _in_reach(now: datetime) -> None:
    ids = [alert.matter.partition(":")[2] for alert in _open("unreachable")]
    away = Server.objects.filter(pk__in=ids, paused=False, unreachable_since__isnull=False)
    still = {out_of_reach(pk) for pk in away.values_list("pk", flat=True)}
    _close_all("unreachable", still, now)


def _open(kind: str) -> QuerySet[Alert]:
    return Alert.objects.filter(matter__startswith=f"{kind}:", closed_at__isnull=True)


def _close_all(kind: str, but: set[str], now: datetime) -> None:
    for alert in _open(kind):
        if alert.matter not in but:
            with transaction.atomic():
                close_alert(alert.team_id, alert.matter, now)
