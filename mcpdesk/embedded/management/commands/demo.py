from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from mcpdesk.embedded.demo_startup import DemoStartup
from mcpdesk.embedded.management.commands import up


class Command(up.Command):
    help = "Starts the whole desk with a demo team, a demo MCP server and sign-ins to try."
    startup = DemoStartup

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("Start it as `./desk demo`, which keeps its data apart.")
        super().handle(*args, **options)
