import sys
from typing import Any

from django.core.management.base import BaseCommand

from mcpdesk.embedded import testing


class Command(BaseCommand):
    help = "Runs every check and every test; with arguments, pytest alone with them."
    requires_system_checks = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Hand all arguments to pytest, whose options are not Django's."""
        sys.exit(testing.main(argv[2:]))

    def handle(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError("started from the command line only")
