"""`./desk retention`: how long a team keeps things, what would go, and a run of it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from mcpdesk.accounts.models import Team
from mcpdesk.keeping import commands, runs, settings
from mcpdesk.keeping.due import going
from mcpdesk.keeping.settings import Kept

_NEVER = "never"


class Command(BaseCommand):
    help = (
        "Deletes what a team does not keep any longer. With --by, sets how long it keeps things "
        "first. With --dry-run, says what would go and changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", help="the team's short name")
        for name in ("--payload-days", "--log-days"):
            parser.add_argument(name, metavar="DAYS", help=f"days, or {_NEVER}: kept for ever")
        parser.add_argument("--by", metavar="EMAIL", help="the admin in whose name that is set")
        parser.add_argument("--dry-run", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        team = commands.team_of(options["team"])
        kept = _asked(settings.of(team.pk), options)
        with commands.refusals():
            settings.check(kept)
            if options["dry_run"]:
                self._say(team, kept)
            else:
                self._run(team, kept, options["by"])

    def _say(self, team: Team, kept: Kept) -> None:
        for line in commands.sentences(
            going(team, kept.payload_days, kept.log_days, timezone.now())
        ):
            self.stdout.write(line)

    def _run(self, team: Team, kept: Kept, by: str | None) -> None:
        if kept != settings.of(team.pk):
            if by is None:
                raise CommandError("Say with --by which admin sets this.")
            actor = commands.admin_of(team, by)
            settings.change(team, kept, actor=actor, now=timezone.now())
        ran = runs.run(team, timezone.now())
        self.stdout.write(
            f"Deleted what {ran.operations} operations carried, and {ran.events} events of the log."
        )


def _asked(kept: Kept, options: dict[str, Any]) -> Kept:
    """The team's settings, with what the options say instead."""
    return Kept(
        _days(options["payload_days"], kept.payload_days), _days(options["log_days"], kept.log_days)
    )


def _days(given: str | None, now: int | None) -> int | None:
    if given is None or given == _NEVER:
        return now if given is None else None
    if not given.isascii() or not given.isdecimal():
        raise CommandError(f"{given} is neither a number of days nor “{_NEVER}”.")
    return int(given)
