from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mcpdesk.embedded import preparation, processes
from mcpdesk.embedded.errors import StartError


class Command(BaseCommand):
    help = "Runs the web process alone, on MCPDESK_BIND."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            address = processes.bind()
            address.require_free()
            # `prepare` may have run on another machine
            preparation.collect_static()
        except (StartError, OSError) as error:
            raise CommandError(str(error)) from error
        processes.replace_this_process(processes.web(address))
