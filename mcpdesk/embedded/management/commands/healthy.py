import sys
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from mcpdesk.embedded import processes
from mcpdesk.embedded.locations import local_url
from tasks_monitor.engine.heartbeat import silences

#: What the web process answers for: itself, or all that the desk stands on.
_PAGES = {"web": "/healthz", "desk": "/readyz"}


class Command(BaseCommand):
    help = "Exits with 0 when this kind of process is at work, else with 1; for health checks."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("process", choices=["web", "worker", "clock", "desk"])

    def handle(self, *args: Any, **options: Any) -> None:
        process = options["process"]
        page = _PAGES.get(process)
        well = _answers(page) if page else _was_seen(process)
        if not well:
            # a desk at another address than the one asked here looks like one that is away
            where = (
                f"{local_url()}{page} does not answer with 200 (MCPDESK_BIND says where to ask)."
            )
            self.stderr.write(where if page else f"No {process} was seen in the last minute.")
        sys.exit(0 if well else 1)


def _answers(page: str) -> bool:
    return processes.answers(f"{local_url()}{page}", urlsplit(settings.PUBLIC_URL).netloc)


def _was_seen(process: str) -> bool:
    """Whether any process of this kind was at work lately: the heartbeat names no machine."""
    return process not in {silence.process for silence in silences(timezone.now())}
