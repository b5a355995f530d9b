"""What every change begins with that takes a role in the team: who it is, the lock, the role now.

A page asks for the role before its verb runs (accounts.guard). Between the two somebody may take it
away, so the verb asks again once it holds the lock that it waited for.
"""

from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import PermissionDenied

from mcpdesk.accounts import access, guard
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.models import Team
from mcpdesk.audit.log import Actor


@dataclass(frozen=True, slots=True)
class Who:
    """The admin who changes something of their team, and when (aware UTC)."""

    member: Member
    now: datetime

    @property
    def actor(self) -> Actor:
        return Actor.person(self.member)


def locked(who: Who) -> Team:
    """locked_for() of who changes something of their own team."""
    return locked_for(who.actor, who.member.team_id)


def locked_for(actor: Actor, team_id: int) -> Team:
    """The team, locked until the transaction ends, for somebody who is its admin now.

    Two changes wait for each other. Raises PermissionDenied, also for who was its admin when they
    asked.
    """
    # without the key: a decision that writes its events meanwhile does not wait for it
    team = Team.objects.select_for_update(no_key=True).get(pk=team_id)
    require_now(actor, team.pk, Permission.ADMINISTER)
    return team


def require_now(actor: Actor, team_id: int, permission: Permission) -> None:
    """Raise PermissionDenied, with the sentence that a page has for it, unless this person has the
    permission in the team as of now. Whoever changes roles holds the team's row.
    """
    member = None if actor.user is None else access.member_in(actor.user, team_id)
    if member is None:
        raise PermissionDenied("You are not a member of this team.")
    guard.require(member, permission)
