"""`./desk support_staff`: who may come in to the support pages (docs/support.md)."""

from datetime import UTC, datetime
from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from django.core.management.base import BaseCommand, CommandError, CommandParser

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import User
from mcpdesk.support import staff


class Command(BaseCommand):
    help = (
        "Say who is support staff. They see the pages at /support/, with a second factor, and "
        "nothing of a team that does not let support look. Each change is in every team's log."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=["add", "remove", "list"])
        parser.add_argument("email", nargs="?", help="of somebody who has an account")

    def handle(self, *args: Any, what: str, email: str | None, **options: Any) -> None:
        if what == "list":
            self._list()
            return
        if not email:
            raise CommandError(f"Whom? ./desk support_staff {what} EMAIL")
        verb = {"add": staff.add, "remove": staff.remove}[what]
        try:
            user = verb(email, datetime.now(UTC))
        except Refused as refusal:
            raise CommandError(refusal.sentence) from None
        self.stdout.write(self._said(user))

    def _list(self) -> None:
        for user in User.objects.filter(is_staff=True).order_by("email"):
            self.stdout.write(self._said(user))

    def _said(self, user: User) -> str:
        if not user.is_staff:
            return f"{user.email} is support staff no more"
        if not is_mfa_enabled(user):
            return f"{user.email} is support staff, and has to set up a second factor first"
        return f"{user.email} is support staff"
