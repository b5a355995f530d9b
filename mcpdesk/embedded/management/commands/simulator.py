import sys
from typing import Any

from django.core.management.base import BaseCommand

from mcpdesk.simulator import cli


class Command(BaseCommand):
    help = "Runs the scripted MCP server of the demo, with options of its own (--port, --state)."
    requires_system_checks = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Hand every option to the simulator, which knows nothing of Django."""
        sys.exit(cli.main(argv[2:]))

    def handle(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError("started from the command line only")
