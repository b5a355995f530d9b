"""Heartbeats: when each kind of process was last seen at work."""

from datetime import datetime

from tasks_monitor.models import Heartbeat


def beat(process: str, now: datetime) -> None:
    """Write down that a process of this kind is at work."""
    Heartbeat.objects.update_or_create(process=process, defaults={"at": now})


def last_beat(process: str) -> datetime | None:
    """When a process of this kind was last seen (UTC), None: never."""
    return Heartbeat.objects.filter(process=process).values_list("at", flat=True).first()
