"""Watch: work that nobody has seen for a minute is an alert to every team.

What is dead cannot say so: the clock watches the workers, and each worker watches the clock. Who is
left sends the messages too: without workers the clock does, without a clock the worker by itself.
Where neither runs, nobody sends: pages, /readyz and /metrics say so.
"""

from datetime import datetime
from typing import Final

from django.db import transaction

from mcpdesk.accounts.models import Team
from mcpdesk.notify.alerts import close_alert, raise_alert
from mcpdesk.notify.models import Alert
from tasks_monitor.engine.heartbeat import EXPECTED, Silence, silences

#: How often one watcher looks (s).
EVERY_S: Final = 20.0


class Watch:
    """One watcher. It speaks of what was silent at two looks in a row: after the machine slept,
    or started, everything seems silent for a moment.
    """

    def __init__(self) -> None:
        self._silent: frozenset[str] = frozenset()
        #: What was silent at the last two looks.
        self.missing: frozenset[str] = frozenset()

    def look(self, now: datetime) -> None:
        """Raise what is silent, close what is not."""
        found = {silence.process: silence for silence in silences(now)}
        for process in EXPECTED:
            silence = found.get(process)
            if silence is None:
                _close(process, now)
            elif process in self._silent:
                _raise(silence, now)
        self.missing = self._silent & found.keys()
        self._silent = frozenset(found)


def _raise(silence: Silence, now: datetime) -> None:
    sentence = f"{silence.subject} was not seen for a minute: {silence.consequence}."
    alerted = Alert.objects.filter(matter=_matter(silence.process), closed_at__isnull=True)
    for team in Team.objects.exclude(pk__in=alerted.values("team_id")):
        with transaction.atomic():
            raise_alert(team.pk, _matter(silence.process), sentence, now, path="/health/desk/")


def _close(process: str, now: datetime) -> None:
    alerted = Alert.objects.filter(matter=_matter(process), closed_at__isnull=True)
    for team_id in alerted.values_list("team_id", flat=True):
        with transaction.atomic():
            close_alert(team_id, _matter(process), now)


def _matter(process: str) -> str:
    return f"silence:{process}"
