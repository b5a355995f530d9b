from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mcpdesk.embedded import preparation
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.first_admin import ensure_first_admin


class Command(BaseCommand):
    help = "Brings the tables up to date and creates the first admin; for a database of one's own."
    # it checks the settings itself, in sentences
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            preparation.prepare(ensure_first_admin)
        except (StartError, OSError) as error:
            raise CommandError(str(error)) from error
