"""`./desk erase_person`: what erasing a deactivated person takes away, and doing it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from mcpdesk.keeping import commands, persons

#: Whoever may run commands on this machine may erase anybody.
_ACTOR = Actor(None, "The command line", Channel.COMMAND)


class Command(BaseCommand):
    help = "Erases a deactivated person for ever; --dry-run says what would go."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", help="the person's address")
        parser.add_argument("--confirm", metavar="NAME", default="", help="their name, as it is")
        parser.add_argument("--dry-run", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        user, now = commands.user_of(options["email"]), timezone.now()
        with commands.refusals():
            if options["dry_run"]:
                persons.check(user, persons.teams_of(user), _ACTOR, now)
                self._say(persons.going(user))
                return
            erased = persons.erase(user.pk, confirmed=options["confirm"], actor=_ACTOR, now=now)
        self.stdout.write(f"Erased: {erased}")

    def _say(self, going: persons.Going) -> None:
        self.stdout.write(f"In {', '.join(going.teams)}:")
        for name, count in going.kinds:
            self.stdout.write(f"  {name}: {count}")
        span = f", from {going.oldest} to {going.newest}" if going.oldest else ""
        self.stdout.write(f"  the name in {going.events} events of the log{span}")
