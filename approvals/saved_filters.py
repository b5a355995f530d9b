"""Named lists of the inbox and the history: a person's own, and the team's, kept by its admins."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import QueryDict

from approvals.filters import Chosen
from approvals.history_filters import ApprovalFilters
from approvals.models import ListPlace, SavedFilter
from approvals.outcomes import Missing, Refused
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Team, User
from mcpdesk.audit.admins import locked_for
from mcpdesk.audit.log import Actor, record
from mcpdesk.mcp.jsontext import storable
from tasks_monitor.history_filters import OperationFilters

#: So many of a place for each person in a team, and so many for the team.
MAX_EACH = 50
MAX_NAME_CHARS = 60
MAX_QUERY_CHARS = 1024

NO_NAME = "Give the list a name."
BAD_NAME = f"A name has at most {MAX_NAME_CHARS} characters, in one line. Nothing was saved."
TAKEN = "There is a list of that name already. Nothing was saved."
TOO_LONG = "These filters are too long to be kept. Nothing was saved."
FULL = f"There are {MAX_EACH} lists already. Delete one first; nothing was saved."


_PATHS: Final = {
    ListPlace.INBOX: "/inbox/",
    ListPlace.OPERATIONS: "/history/",
    ListPlace.APPROVALS: "/history/approvals/",
    ListPlace.EVENTS: "/audit/",
}


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved list as pages show it; `query` is what of an address says what is listed."""

    pk: int
    place: ListPlace
    name: str
    of_team: bool
    query: str

    @property
    def path(self) -> str:
        """Where the lists of its place are shown."""
        return _PATHS[self.place]

    @property
    def suffix(self) -> str:
        """The query with its question mark, to be put behind the address of its place."""
        return f"?{self.query}" if self.query else ""


def of(member: Member, place: ListPlace | None = ListPlace.INBOX) -> list[Saved]:
    """The lists this member sees of one place, or of all: their own and the team's, by name.

    What has no meaning (any more) in an address is dropped. One query.
    """
    seen = _seen_by(member) if place is None else _seen_by(member).filter(place=place)
    return [_saved(one) for one in seen]


def _saved(one: SavedFilter) -> Saved:
    place = ListPlace(one.place)
    query = _READ[place](QueryDict(one.query))
    return Saved(one.pk, place, one.name, one.user_id is None, query)


#: What each place makes of an address.
_READ: Final[dict[ListPlace, Callable[[QueryDict], str]]] = {
    ListPlace.INBOX: lambda given: Chosen.read(given).query,
    ListPlace.OPERATIONS: lambda given: OperationFilters.read(given).query,
    ListPlace.APPROVALS: lambda given: ApprovalFilters.read(given).query,
    ListPlace.EVENTS: lambda given: given.urlencode(),
}


@transaction.atomic
def save(
    member: Member,
    *,
    name: str,
    query: str,
    for_team: bool,
    now: datetime,
    place: ListPlace = ListPlace.INBOX,
) -> SavedFilter | Refused:
    """Keep this list of a place under a name; `for_team` takes an admin (PermissionDenied)."""
    if for_team:
        locked_for(Actor.person(member), member.team_id)
    owner = None if for_team else member.user
    name = name.strip()
    refusal = _why_not_named(member, owner, place, name)
    if refusal:
        return Refused(refusal)
    if len(query) > MAX_QUERY_CHARS:
        return Refused(TOO_LONG)
    kept = SavedFilter.objects.filter(team=member.team_id, user=owner, place=place)
    if kept.count() >= MAX_EACH:
        return Refused(FULL)
    whose = {"team_id": member.team_id, "user": owner}
    saved = SavedFilter.objects.create(**whose, place=place, name=name, query=query)
    _record("filter.saved", saved, member, now)
    return saved


@transaction.atomic
def rename(member: Member, pk: int, *, name: str, now: datetime) -> SavedFilter | Missing | Refused:
    """Give a list another name. Raises PermissionDenied for the team's to who is no admin."""
    saved = _held(member, pk)
    if saved is None:
        return Missing()
    name, before = name.strip(), saved.name
    refusal = None if name == before else _why_not_named(member, saved.user, saved.place, name)
    if refusal:
        return Refused(refusal)
    saved.name = name
    saved.save(update_fields=["name"])
    _record("filter.renamed", saved, member, now, before=before)
    return saved


@transaction.atomic
def delete(member: Member, pk: int, *, now: datetime) -> SavedFilter | Missing:
    """Forget a list; returns what it was. Raises PermissionDenied as of rename()."""
    saved = _held(member, pk)
    if saved is None:
        return Missing()
    SavedFilter.objects.filter(pk=saved.pk).delete()
    _record("filter.removed", saved, member, now)
    return saved


def _seen_by(member: Member) -> QuerySet[SavedFilter]:
    mine_or_ours = Q(user=member.user_id) | Q(user__isnull=True)
    return SavedFilter.objects.filter(mine_or_ours, team=member.team_id)


def _held(member: Member, pk: int) -> SavedFilter | None:
    """The list, locked until the transaction ends; other people's lists do not exist."""
    seen = _seen_by(member).filter(pk=pk)
    saved = seen.select_for_update(of=("self",)).select_related("user").first()
    if saved is not None and saved.user_id is None:
        locked_for(Actor.person(member), member.team_id)
    return saved


def _why_not_named(member: Member, owner: User | None, place: str, name: str) -> str | None:
    """Holds the team's row, so that names and numbers stay as they were counted."""
    if not name:
        return NO_NAME
    if len(name) > MAX_NAME_CHARS or not storable(name) or not name.isprintable():
        return BAD_NAME
    Team.objects.select_for_update(no_key=True).get(pk=member.team_id)
    kept = SavedFilter.objects.filter(team=member.team_id, user=owner, place=place, name=name)
    return TAKEN if kept.exists() else None


def _record(
    kind: str, saved: SavedFilter, member: Member, now: datetime, before: str | None = None
) -> None:
    """What an admin does to the team's lists is everybody's business; one's own is nobody's."""
    if saved.user_id is not None:
        return
    actor = Actor.person(member)
    record(kind, team_id=member.team_id, actor=actor, now=now, name=saved.name, before=before)
