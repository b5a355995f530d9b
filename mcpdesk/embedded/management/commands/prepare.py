from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mcpdesk.embedded import preparation
from mcpdesk.embedded.console import step
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.first_admin import ensure_first_admin


class Command(BaseCommand):
    help = "Brings the tables up to date and creates the first admin; for a database of one's own."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            preparation.require_database()
            with step("Bringing the tables up to date"):
                preparation.migrate()
            if email := ensure_first_admin():
                print(f"Created the first admin: {email}")
        except StartError as error:
            raise CommandError(str(error)) from error
