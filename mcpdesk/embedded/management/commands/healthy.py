import sys
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from mcpdesk.embedded import processes
from mcpdesk.embedded.locations import local_url
from tasks_monitor.engine.heartbeat import silences


class Command(BaseCommand):
    help = "Exits with 0 when this kind of process is at work, else with 1; for health checks."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("process", choices=["web", "worker", "clock"])

    def handle(self, *args: Any, **options: Any) -> None:
        process = options["process"]
        healthy = _web_answers() if process == "web" else _was_seen(process)
        sys.exit(0 if healthy else 1)


def _web_answers() -> bool:
    return processes.answers(f"{local_url()}/health/", urlsplit(settings.PUBLIC_URL).netloc)


def _was_seen(process: str) -> bool:
    """Whether any process of this kind was at work lately: the heartbeat names no machine."""
    return process not in {silence.process for silence in silences(timezone.now())}
