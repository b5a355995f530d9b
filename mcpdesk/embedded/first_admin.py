"""The first person of a new desk: from the environment, or asked for at the terminal."""

import getpass
import os
import sys

from django.db import transaction
from django.utils import timezone

from approvals.policies import STARTING_RULE, add_rule
from mcpdesk.accounts.access import memberships_of
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import User
from mcpdesk.accounts.setup import create_first_admin, needs_first_admin
from mcpdesk.audit.admins import Who
from mcpdesk.embedded.console import say
from mcpdesk.embedded.errors import StartError

EMAIL = "MCPDESK_ADMIN_EMAIL"
PASSWORD = "MCPDESK_ADMIN_PASSWORD"  # noqa: S105 - a variable's name
NAME = "MCPDESK_ADMIN_NAME"
TEAM = "MCPDESK_TEAM"


def ensure_first_admin() -> None:
    """Create the first admin where nobody can sign in yet, and say so.

    Raises StartError where nothing says who that is, or the answer is not acceptable.
    """
    if not needs_first_admin():
        return
    email, password = _from_environment() or _from_terminal()
    try:
        user = _create(email, password)
    except Refused as refusal:
        raise StartError(f"The first admin was not created: {refusal}") from refusal
    say(f"Created the first admin: {user.email}")
    say(
        f"The team starts with one policy rule, “{STARTING_RULE['name']}”: every call runs at once."
    )


@transaction.atomic
def _create(email: str, password: str) -> User:
    """The admin, the team, and the rule that lets the team of one person start anything."""
    user = create_first_admin(email, password, os.environ.get(NAME, ""), os.environ.get(TEAM, ""))
    (member,) = memberships_of(user)
    add_rule(STARTING_RULE, who=Who(member, timezone.now()))
    return user


def _from_environment() -> tuple[str, str] | None:
    email, password = os.environ.get(EMAIL), os.environ.get(PASSWORD)
    return (email, password) if email and password else None


def _from_terminal() -> tuple[str, str]:
    if not sys.stdin.isatty():
        raise StartError(
            f"Nobody can sign in yet. Set {EMAIL} and {PASSWORD} for the first start, or start at "
            "a terminal, where they are asked for."
        )
    print("This desk is new. Who is its first admin?", flush=True)
    email = input("  Email address: ").strip()
    while True:
        password = getpass.getpass("  Password: ")
        if password == getpass.getpass("  The same password again: "):
            return email, password
        print("  The two differ.", flush=True)
