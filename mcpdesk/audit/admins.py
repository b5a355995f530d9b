"""What every change begins with that only an admin of a team makes: who it is, and the lock."""

from dataclasses import dataclass
from datetime import datetime

from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team
from mcpdesk.audit.log import Actor

NOT_AN_ADMIN = "Only an admin of the team changes this. Nothing was changed."


@dataclass(frozen=True, slots=True)
class Who:
    """The admin who changes something of their team, and when (aware UTC)."""

    member: Member
    now: datetime

    @property
    def actor(self) -> Actor:
        return Actor.person(self.member)


def locked(who: Who) -> Team:
    """The team, locked until the transaction ends, for somebody who is its admin now.

    Two changes wait for each other. Raises Refused, also for who was its admin when they asked.
    """
    # without the key: a decision that writes its events meanwhile does not wait for it
    team = Team.objects.select_for_update(no_key=True).get(pk=who.member.team_id)
    current = access.member_in(who.member.user, team.pk)
    if current is None or not current.may(Permission.ADMINISTER):
        raise Refused(NOT_AN_ADMIN)
    return team
