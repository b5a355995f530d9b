"""Heartbeats: when each kind of process was last seen at work."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tasks_monitor.models import Heartbeat

#: The clock beats every second, and rings a worker every ten.
MAX_SILENCE: Final = timedelta(minutes=1)
EXPECTED: Final = ("clock", "worker")


@dataclass(frozen=True, slots=True)
class Silence:
    """A kind of process that nobody has seen lately; `last_seen` (UTC) None: never."""

    process: str
    last_seen: datetime | None


def beat(process: str, now: datetime) -> None:
    """Write down that a process of this kind is at work."""
    Heartbeat.objects.update_or_create(process=process, defaults={"at": now})


def last_beat(process: str) -> datetime | None:
    """When a process of this kind was last seen (UTC), None: never."""
    return Heartbeat.objects.filter(process=process).values_list("at", flat=True).first()


def silences(now: datetime) -> list[Silence]:
    """What ought to run and was not seen for a minute: without it nothing moves by itself."""
    seen = dict(Heartbeat.objects.values_list("process", "at"))
    return [
        Silence(process, seen.get(process))
        for process in EXPECTED
        if process not in seen or now - seen[process] > MAX_SILENCE
    ]
