"""`./desk mcp_conformance URL`: the desk as the official conformance suite's client under test."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasks_monitor import conformance


class Command(BaseCommand):
    help = "Lists the tools of an MCP server, calls each, and answers whatever it asks."
    # The suite's servers are no part of a configured desk: no database, no keys.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="address of the MCP endpoint, loopback included")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            succeeded = conformance.main(options["url"], self._print)
        except RuntimeError as error:
            raise CommandError(str(error)) from error
        if not succeeded:
            self.stdout.write(self.style.WARNING("Not every call came to a result."))

    def _print(self, report: conformance.CallReport) -> None:
        self.stdout.write(f"{report.tool}: {report.sentence}")
        self.stdout.flush()
