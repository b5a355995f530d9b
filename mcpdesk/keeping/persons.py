"""Erasure of a person: name and address go, and what they wrote; what they decided stays.

It cannot be undone. The log's seals hold a commitment in place of each name, so that the chain is
the same before and after (mcpdesk.audit.erasing).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet

from approvals.models import Comment, Vote
from approvals.rebuild import rebuild
from mcpdesk.accounts import access, devices
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import ApiToken, Membership, RoleSpan, Team, User
from mcpdesk.audit import legal
from mcpdesk.audit.canonical import people_in
from mcpdesk.audit.erasing import erase_names
from mcpdesk.audit.log import Actor, record
from mcpdesk.audit.models import Channel, Event
from mcpdesk.keeping import mentions
from mcpdesk.keeping.personal import PARTS
from tasks_monitor.models import Operation

NOT_CONFIRMED: Final = "Type the name exactly as it stands there. Nothing was erased."
IS_ACTIVE: Final = "Deactivate the account first. Nothing was erased."
GONE: Final = "This person is erased already."


class NotConfirmed(Refused):
    """The name that was typed is not theirs."""


@dataclass(frozen=True, slots=True)
class Going:
    """What of a person would go, in counts per kind, and since when the log knows them (UTC)."""

    kinds: tuple[tuple[str, int], ...]
    events: int
    oldest: datetime | None
    newest: datetime | None
    teams: tuple[str, ...]


def going(user: User) -> Going:
    """What erase() would erase now; nothing is written."""
    counted = ((part.name, part.rows(user).count()) for part in PARTS)
    known = Event.objects.filter(actor=user).order_by()
    span = known.aggregate(events=Count("pk"), oldest=Min("at"), newest=Max("at"))
    return Going(
        kinds=tuple((name, count) for name, count in counted if count),
        **span,
        teams=tuple(str(team) for team in teams_of(user)),
    )


def teams_of(user: User) -> QuerySet[Team]:
    """Every team that the person is or was in, or that the log knows them from."""
    member = Membership.objects.filter(team=OuterRef("pk"), user=user)
    was_member = RoleSpan.objects.filter(team=OuterRef("pk"), user=user)
    known = Event.objects.filter(team=OuterRef("pk"), actor=user)
    return Team.objects.filter(Exists(member) | Exists(was_member) | Exists(known)).order_by("pk")


@transaction.atomic(durable=True)
def erase(user_id: int, *, confirmed: str, actor: Actor, now: datetime) -> User:
    """Erase a deactivated person; `confirmed` is their name, typed by whoever asks.

    On the command line anybody may who can run it; else an admin of every team of the person.
    Raises Refused, and User.DoesNotExist.
    """
    teams = list(teams_of(User.objects.get(pk=user_id)))
    for team in teams:
        # not beside what deletes payloads: both take votes, comments and messages, each in an order
        # of its own, and would wait for each other's rows
        legal.wait_for_deletions(team.pk)
    user = User.objects.select_for_update(no_key=True).get(pk=user_id)
    check(user, teams, actor, now)
    if confirmed.strip() != str(user):
        raise NotConfirmed(NOT_CONFIRMED)
    _erase(user, [team.pk for team in teams], now)
    for team in teams:
        record("user.erased", team_id=team.pk, actor=actor, now=now, person=user)
    return user


def check(user: User, teams: Iterable[Team], actor: Actor, now: datetime) -> None:
    """Refuse whom this actor cannot erase now; `teams` are all of that person."""
    if user.log_salt is None:
        raise Refused(GONE)
    for team in teams:
        if actor.channel != Channel.COMMAND:
            _require_admin(actor, team, now)
        if _is_held(user, team.pk):
            raise Refused(f"A legal hold of {team} covers this person. Nothing was erased.")
    if user.is_active:
        raise Refused(IS_ACTIVE)


def _require_admin(actor: Actor, team: Team, now: datetime) -> None:
    member = None if actor.user is None else access.member_in(actor.user, team.pk, now)
    if member is None or not member.may(Permission.ADMINISTER):
        raise Refused(
            "Only an admin of every team that the person is or was in can erase them. "
            "Nothing was erased."
        )


def _is_held(user: User, team_id: int) -> bool:
    """Whether a hold is on over the team, or over an operation that this person had to do with."""
    held = legal.held(team_id)
    if held.everything or not held.operations:
        return held.everything
    theirs = Q(started_by=user) | Q(again_by=user)
    theirs |= Q(Exists(Vote.objects.filter(approval__operation=OuterRef("pk"), user=user)))
    theirs |= Q(Exists(Comment.objects.filter(approval__operation=OuterRef("pk"), user=user)))
    if Operation.objects.filter(theirs, pk__in=held.operations).exists():
        return True
    events = Event.objects.filter(operation_id__in=held.operations)
    return any(
        event.actor_id == user.pk or user.pk in people_in(event.data).values()
        for event in events.iterator(500)
    )


def _erase(user: User, team_ids: list[int], now: datetime) -> None:
    names = mentions.names_of(user)
    written = _written_about(user)
    # before the rows go that say which they are; one without a row falls with the account
    devices.end_all(user)
    for part in PARTS:
        part.erase(user)
    ApiToken.objects.filter(user=user, revoked_at__isnull=True).update(revoked_at=now)
    _empty_account(user)
    repaired = mentions.forget_repairs(user, names)
    rebuild([*written, *repaired])
    mentions.forget_in_messages(team_ids, names, now)
    mentions.forget_in_alerts(team_ids, names, str(user))
    # last: it holds back whoever writes events
    erase_names(user)


def _written_about(user: User) -> list[UUID]:
    """The operations that can be found by words of this person."""
    votes = Vote.objects.filter(user=user, reason__isnull=False)
    voted = votes.values_list("approval__operation", flat=True)
    started = Operation.objects.filter(started_by=user).exclude(reason="")
    return [*voted, *started.values_list("pk", flat=True)]


def _empty_account(user: User) -> None:
    """The row stays: votes, decisions and operations point to it."""
    user.name = f"Erased person {user.pk}"
    user.email = f"erased-{user.pk}@erased.invalid"
    user.time_zone = "UTC"
    user.last_login = None
    user.is_staff = user.is_superuser = False
    user.set_unusable_password()
    user.save()
