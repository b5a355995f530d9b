"""`./desk timeline OPERATION`: everything that happened to one operation."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from mcpdesk.audit.models import Event
from mcpdesk.notify.plain import one_line
from tasks_monitor.models import Operation

MAX_LINE_CHARS = 1000


class Command(BaseCommand):
    help = "Print the timeline of an operation: its events in order, times in UTC."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("operation", help="the operation's id, or the first part of it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._print(self._find(options["operation"]))
        except OperationalError as error:
            raise CommandError(
                "The database does not answer. Start the desk first, or set DATABASE_URL."
            ) from error

    def _print(self, operation: Operation) -> None:
        # a terminal obeys what a server may have put into a name
        tool = one_line(operation.tool_name)
        self.stdout.write(f"{operation.pk}  {tool} on {operation.server.name}")
        for event in Event.objects.filter(operation_id=operation.pk).order_by("id"):
            self.stdout.write(one_line(str(event), MAX_LINE_CHARS))
        self.stdout.write(f"now: {operation.get_state_display()}")

    def _find(self, wanted: str) -> Operation:
        operations = Operation.objects.select_related("server")
        try:
            found = list(operations.filter(pk=UUID(wanted)))
        except ValueError:
            found = list(operations.filter(pk__startswith=wanted.lower())[:2]) if wanted else []
        if not found:
            raise CommandError(f"There is no operation {wanted}.")
        if len(found) > 1:
            raise CommandError(f"Several operations begin with {wanted}: give more of the id.")
        return found[0]
