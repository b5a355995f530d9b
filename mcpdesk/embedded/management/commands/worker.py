from typing import Any

from django.core.management.base import BaseCommand

from mcpdesk.embedded import processes


class Command(BaseCommand):
    help = "Runs one worker process alone; start as many as you like."

    def handle(self, *args: Any, **options: Any) -> None:
        processes.replace_this_process(processes.worker())
