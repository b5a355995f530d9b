"""The verb of the profile page: one's own name and time zone."""

from datetime import datetime

from django.db import transaction

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Team, User
from mcpdesk.audit.log import Actor, record
from mcpdesk.web.names import checked_name


@transaction.atomic(durable=True)
def change_profile(member: Member, *, name: str, time_zone: str, now: datetime) -> User:
    """Give oneself another name or zone; another name is an event in each of one's teams.

    Raises Refused (mcpdesk.web.names).
    """
    # locked in one order: of two who want the same name at once, the second sees the first's
    teams = Team.objects.filter(memberships__user=member.user).order_by("pk")
    team_ids = [team.pk for team in teams.select_for_update(no_key=True, of=("self",))]
    user = User.objects.select_for_update(no_key=True).get(pk=member.user_id)
    if name != user.name:
        kept = checked_name(name, teams=team_ids, person=user)
        _note(Actor.person(member), user, kept, team_ids, now)
        user.name = kept
    user.time_zone = time_zone
    user.save(update_fields=["name", "time_zone"])
    return user


def _note(actor: Actor, user: User, name: str, team_ids: list[int], now: datetime) -> None:
    if name == user.name:
        return
    for team_id in team_ids:
        record("user.renamed", team_id=team_id, actor=actor, now=now)
