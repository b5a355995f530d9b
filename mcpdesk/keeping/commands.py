"""What the commands of this package share: whom they speak of, and how they say what would go."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import PermissionDenied
from django.core.management.base import CommandError

from mcpdesk.accounts import access
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team, User
from mcpdesk.audit.canonical import moment
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from mcpdesk.keeping.due import Going


def team_of(slug: str) -> Team:
    """The team. Raises CommandError where there is none."""
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        slugs = Team.objects.order_by("slug").values_list("slug", flat=True)
        raise CommandError(f"There is no team {slug}. There are: {', '.join(slugs)}.")
    return team


def user_of(email: str) -> User:
    """The person with this address. Raises CommandError where there is none."""
    user = User.objects.filter(email__iexact=email).first()
    if user is None:
        raise CommandError(f"Nobody has the address {email}.")
    return user


def admin_of(team: Team, email: str) -> Actor:
    """An admin of the team, in whose name something is done. Raises CommandError for others."""
    user = user_of(email)
    member = access.member_in(user, team.pk)
    if member is None or not member.may(Permission.ADMINISTER):
        raise CommandError(f"{email} is no admin of {team}.")
    return Actor(user, str(user), Channel.COMMAND)


@contextmanager
def refusals() -> Iterator[None]:
    """Whatever a verb refuses, also to who was an admin a moment ago, raises CommandError."""
    try:
        yield
    except Refused as refusal:
        raise CommandError(refusal.sentence) from refusal
    except PermissionDenied as denied:
        raise CommandError(f"{denied} Nothing was changed.") from denied


def sentences(going: Going) -> Iterator[str]:
    """What would go, a line for each thing; times in UTC."""
    payloads, log = going.payloads, going.log
    if not going.anything:
        yield "Nothing would go."
    if payloads.operations and payloads.oldest and payloads.newest:
        span = f"{moment(payloads.oldest)} to {moment(payloads.newest)}"
        yield f"What {payloads.operations} operations carried that ended from {span}:"
        yield from (f"  {name}: {count}" for name, count in payloads.kinds)
    if payloads.held:
        yield f"{payloads.held} more stay because of a legal hold."
    if log.events and log.oldest and log.newest:
        span = f"{moment(log.oldest)} to {moment(log.newest)}"
        yield f"{log.events} events of the log in {log.seals} sealed batches, from {span}."
