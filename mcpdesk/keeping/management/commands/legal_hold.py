"""`./desk legal_hold`: begin and end the holds of a team, or list them."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from mcpdesk.accounts.models import Team
from mcpdesk.audit import legal
from mcpdesk.audit.models import LegalHold
from mcpdesk.keeping import commands, holds, settings
from mcpdesk.keeping.due import ended_before, moment


class Command(BaseCommand):
    help = "Lists a team's legal holds, begins one or ends one. --dry-run: what it would keep."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", help="the team's short name")
        parser.add_argument("verb", choices=["list", "begin", "end"])
        parser.add_argument("--operation", type=UUID, help="the id of one operation; else all")
        parser.add_argument("--hold", type=int, help="which one to end, as the list has it")
        parser.add_argument("--reason", default="")
        parser.add_argument("--by", metavar="EMAIL", help="the admin in whose name it is done")
        parser.add_argument("--dry-run", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        team = commands.team_of(options["team"])
        if options["dry_run"]:
            self.stdout.write(_would_keep(team, options["operation"]))
        elif options["verb"] == "list":
            self._list(team)
        else:
            self._change(team, options)

    def _list(self, team: Team) -> None:
        in_force = list(legal.in_force(team.pk).select_related("begun_by"))
        for hold in in_force:
            self.stdout.write(f"{hold.pk}: {_scope(hold)}, {hold}, {hold.begun_by}")
        if not in_force:
            self.stdout.write(f"No legal hold of {team} is on.")

    def _change(self, team: Team, options: dict[str, Any]) -> None:
        if options["by"] is None:
            raise CommandError("Say with --by which admin does this.")
        who: dict[str, Any] = {
            "actor": commands.admin_of(team, options["by"]),
            "now": timezone.now(),
        }
        reason = options["reason"]
        try:
            with commands.refusals():
                if options["verb"] == "begin":
                    hold = holds.begin(team, options["operation"], reason=reason, **who)
                else:
                    hold = holds.end(options["hold"] or 0, team=team, reason=reason, **who)
        except LegalHold.DoesNotExist:
            raise CommandError("Say with --hold which one of the list is to end.") from None
        became = "is on" if options["verb"] == "begin" else "is over"
        self.stdout.write(f"{hold.pk}: {_scope(hold)}: the legal hold {became}.")


def _would_keep(team: Team, operation_id: UUID | None) -> str:
    """How much of what the team's retention deletes by now a hold would keep."""
    days = settings.of(team.pk).payload_days
    if days is None:
        return f"{team} keeps payloads for ever: a hold keeps what nothing deletes."
    old = ended_before(team.pk, moment(days, timezone.now()))
    mine = old if operation_id is None else old.filter(pk=operation_id)
    return f"It would keep what {mine.count()} operations carried that is due to be deleted now."


def _scope(hold: LegalHold) -> str:
    return f"operation {hold.operation_id}" if hold.operation_id else "the whole team"
