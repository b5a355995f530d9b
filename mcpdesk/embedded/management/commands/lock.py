from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mcpdesk.embedded import locking
from mcpdesk.embedded.errors import StartError


class Command(BaseCommand):
    help = "Writes the two lock files again after a change of pyproject.toml."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--upgrade", action="store_true", help="take newer versions too")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            locking.lock(options["upgrade"])
        except StartError as error:
            raise CommandError(str(error)) from error
        print(f"Wrote {locking.RUNTIME} and {locking.DEVELOPMENT}.")
