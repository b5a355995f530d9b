"""Heartbeats: when each kind of process was last seen at work."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tasks_monitor.models import Heartbeat

#: The clock beats every second, and rings a worker every ten.
MAX_SILENCE: Final = timedelta(minutes=1)
#: What has to be at work, and what comes of it when it is not. The inbox is looked through by a
#: worker that the clock rings: both may run, and that still fail.
EXPECTED: Final = {
    "clock": ("The clock process", "nothing that is late is looked for"),
    "worker": ("The worker process", "nothing is sent and nothing is checked"),
    "inbox": ("The look through the inbox", "nothing expires, nobody is reminded or alerted"),
}
#: Those of them that are processes of their own.
PROCESSES: Final = ("clock", "worker")


@dataclass(frozen=True, slots=True)
class Silence:
    """A kind of work that nobody has seen lately; `last_seen` (UTC) None: never."""

    process: str
    last_seen: datetime | None

    @property
    def subject(self) -> str:
        return EXPECTED[self.process][0]

    @property
    def consequence(self) -> str:
        """What does not happen until it runs."""
        return EXPECTED[self.process][1]


def beat(process: str, now: datetime) -> None:
    """Write down that this kind of work is done. Processes that begin at once do not collide."""
    Heartbeat.objects.bulk_create(
        [Heartbeat(process=process, at=now)],
        update_conflicts=True,
        unique_fields=["process"],
        update_fields=["at"],
    )


def last_beat(process: str) -> datetime | None:
    """When a process of this kind was last seen (UTC), None: never."""
    return Heartbeat.objects.filter(process=process).values_list("at", flat=True).first()


def beats() -> dict[str, datetime | None]:
    """When each kind of work that is expected was last seen (UTC), None: never."""
    seen = dict(Heartbeat.objects.values_list("process", "at"))
    return {process: seen.get(process) for process in EXPECTED}


def silences(now: datetime) -> list[Silence]:
    """What ought to run and was not seen for a minute: without it nothing moves by itself."""
    return [
        Silence(process, last)
        for process, last in beats().items()
        if last is None or now - last > MAX_SILENCE
    ]
