"""Named lists of the inbox: a person's own, and those of the team, which its admins keep."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import QueryDict

from approvals.filters import Chosen
from approvals.models import SavedFilter
from approvals.outcomes import Missing, Refused
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.models import Team, User
from mcpdesk.audit.log import Actor, record
from mcpdesk.mcp.jsontext import storable

#: So many for each person in a team, and so many for the team.
MAX_EACH = 50
MAX_NAME_CHARS = 60
MAX_QUERY_CHARS = 1024

NO_NAME = "Give the list a name."
BAD_NAME = f"A name has at most {MAX_NAME_CHARS} characters, in one line. Nothing was saved."
TAKEN = "There is a list of that name already. Nothing was saved."
TOO_LONG = "These filters are too long to be kept. Nothing was saved."
FULL = f"There are {MAX_EACH} lists already. Delete one first; nothing was saved."
NOT_ADMIN = "Lists of the team are kept by its admins. Nothing was changed."


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved list as pages show it. What has no meaning (any more) in its address is dropped."""

    pk: int
    name: str
    of_team: bool
    chosen: Chosen


def of(member: Member) -> list[Saved]:
    """The lists this member sees: their own and the team's, by name. One query."""
    return [
        Saved(one.pk, one.name, one.user_id is None, Chosen.read(QueryDict(one.query)))
        for one in _seen_by(member)
    ]


@transaction.atomic
def save(
    member: Member, *, name: str, chosen: Chosen, for_team: bool, now: datetime
) -> SavedFilter | Refused:
    """Keep this list under a name; `for_team` takes an admin."""
    if for_team and not member.may(Permission.ADMINISTER):
        return Refused(NOT_ADMIN)
    owner = None if for_team else member.user
    name, query = name.strip(), chosen.beginning().query
    refusal = _why_not_named(member, owner, name)
    if refusal:
        return Refused(refusal)
    if len(query) > MAX_QUERY_CHARS:
        return Refused(TOO_LONG)
    kept = SavedFilter.objects.filter(team=member.team_id, user=owner)
    if kept.count() >= MAX_EACH:
        return Refused(FULL)
    saved = SavedFilter.objects.create(team_id=member.team_id, user=owner, name=name, query=query)
    _record("filter.saved", saved, member, now)
    return saved


@transaction.atomic
def rename(member: Member, pk: int, *, name: str, now: datetime) -> SavedFilter | Missing | Refused:
    """Give a list another name."""
    saved = _held(member, pk)
    if not isinstance(saved, SavedFilter):
        return saved
    name, before = name.strip(), saved.name
    refusal = None if name == before else _why_not_named(member, saved.user, name)
    if refusal:
        return Refused(refusal)
    saved.name = name
    saved.save(update_fields=["name"])
    _record("filter.renamed", saved, member, now, before=before)
    return saved


@transaction.atomic
def delete(member: Member, pk: int, *, now: datetime) -> SavedFilter | Missing | Refused:
    """Forget a list; returns what it was."""
    saved = _held(member, pk)
    if not isinstance(saved, SavedFilter):
        return saved
    SavedFilter.objects.filter(pk=saved.pk).delete()
    _record("filter.removed", saved, member, now)
    return saved


def _seen_by(member: Member) -> QuerySet[SavedFilter]:
    mine_or_ours = Q(user=member.user_id) | Q(user__isnull=True)
    return SavedFilter.objects.filter(mine_or_ours, team=member.team_id)


def _held(member: Member, pk: int) -> SavedFilter | Missing | Refused:
    """The list, locked until the transaction ends; other people's lists do not exist."""
    seen = _seen_by(member).filter(pk=pk)
    saved = seen.select_for_update(of=("self",)).select_related("user").first()
    if saved is None:
        return Missing()
    if saved.user_id is None and not member.may(Permission.ADMINISTER):
        return Refused(NOT_ADMIN)
    return saved


def _why_not_named(member: Member, owner: User | None, name: str) -> str | None:
    """Holds the team's row, so that names and numbers stay as they were counted."""
    if not name:
        return NO_NAME
    if len(name) > MAX_NAME_CHARS or not storable(name) or not name.isprintable():
        return BAD_NAME
    Team.objects.select_for_update(no_key=True).get(pk=member.team_id)
    kept = SavedFilter.objects.filter(team=member.team_id, user=owner, name=name)
    return TAKEN if kept.exists() else None


def _record(
    kind: str, saved: SavedFilter, member: Member, now: datetime, before: str | None = None
) -> None:
    """What an admin does to the team's lists is everybody's business; one's own is nobody's."""
    if saved.user_id is not None:
        return
    actor = Actor.person(member)
    record(kind, team_id=member.team_id, actor=actor, now=now, name=saved.name, before=before)
