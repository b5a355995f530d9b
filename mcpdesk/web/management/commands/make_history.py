"""./desk make_history: fill an empty database with a made-up history of years."""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from mcpdesk.accounts.errors import Refused
from mcpdesk.web.made.filling import Size, fill


class Command(BaseCommand):
    help = "Fill an empty database with a made-up history, to see how the desk bears years of work."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--operations", type=int, default=1_000_000)
        parser.add_argument("--events", type=int, default=10_000_000)
        parser.add_argument("--days", type=int, default=1000, help="how far back it goes")
        parser.add_argument("--people", type=int, default=40)
        parser.add_argument("--seed", type=int, default=1, help="the same seed, the same history")

    def handle(self, *args: Any, **options: Any) -> None:
        names = ("operations", "events", "days", "people")
        if min(options[name] for name in names) < 1 or options["people"] < 6:
            raise CommandError("All numbers must be positive, with six people or more.")
        began = time.monotonic()

        def tell(operations: int, events: int) -> None:
            passed = time.monotonic() - began
            self.stdout.write(
                f"\r{operations:,} of {options['operations']:,} operations, {events:,} events,"
                f" {passed:.0f} s ",
                ending="",
            )
            self.stdout.flush()

        try:
            size = Size(**{name: options[name] for name in names})
            fill(size, timezone.now(), tell, options["seed"])
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"\nDone, indexes and statistics too: {time.monotonic() - began:.0f} s")
