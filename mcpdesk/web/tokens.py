"""The verbs of the token pages: make and revoke, each one transaction with its event."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from mcpdesk.accounts import access, tokens
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import ApiToken, Team, User
from mcpdesk.accounts.tokens import Scope
from mcpdesk.audit.admins import Who, locked, locked_for
from mcpdesk.audit.log import Actor, record

#: Tokens that a person, or a team for its services, can have at a time.
MOST = 50


@dataclass(frozen=True, slots=True)
class Made:
    """A new token, and the one moment at which its secret is known."""

    token: ApiToken
    secret: str


@transaction.atomic(durable=True)
def make_own(
    member: Member, *, name: str, scopes: Sequence[Scope], days: int | None, now: datetime
) -> Made:
    """A token with which programs act as this person in this team. Raises Refused."""
    Team.objects.select_for_update(no_key=True).get(pk=member.team_id)
    _check(member, scopes, ApiToken.objects.filter(team=member.team, user=member.user))
    return _make(member, member, name, scopes, days, now)


@transaction.atomic(durable=True)
def make_service(
    member: Member, *, name: str, scopes: Sequence[Scope], days: int | None, now: datetime
) -> Made:
    """A token of a service, which is nobody. Raises Refused and PermissionDenied."""
    team = locked(Who(member, now))
    theirs = ApiToken.objects.filter(team=team, user__isnull=True)
    if theirs.filter(name=name, revoked_at__isnull=True).exists():
        raise Refused(f"There is a service {name}. Revoke its token first, or choose another name.")
    service = access.service_in(team, name)
    _check(service, scopes, theirs)
    return _make(member, service, name, scopes, days, now)


@transaction.atomic(durable=True)
def revoke(token: ApiToken, *, member: Member, now: datetime) -> None:
    """From now on it opens nothing; once more changes nothing.

    One's own token, in whichever team; any other takes an admin of its team (PermissionDenied).
    """
    if token.user_id != member.user_id:
        locked_for(Actor.person(member), token.team_id)
    current = ApiToken.objects.select_for_update(of=("self",)).get(pk=token.pk)
    if current.revoked_at is not None:
        return
    current.revoked_at, current.revoked_by = now, member.user
    current.save(update_fields=["revoked_at", "revoked_by"])
    record(
        "token.revoked",
        team_id=current.team_id,
        actor=Actor.person(member),
        now=now,
        token=_label(current),
        owner=_owner(current),
    )


def _check(holder: Member, scopes: Sequence[Scope], theirs: QuerySet[ApiToken]) -> None:
    if not scopes:
        raise Refused("Choose at least one thing that the token may be used for.")
    if not set(scopes) <= set(tokens.scopes_of(holder)):
        raise Refused("A token cannot do more than whoever it stands for.")
    if theirs.filter(revoked_at__isnull=True).count() >= MOST:
        raise Refused(f"There are {MOST} tokens. Revoke one that nobody needs any more first.")


def _make(
    maker: Member,
    holder: Member,
    name: str,
    scopes: Sequence[Scope],
    days: int | None,
    now: datetime,
) -> Made:
    secret = tokens.new_secret()
    token = ApiToken.objects.create(
        team=maker.team,
        user=None if holder.service else holder.user,
        name=name,
        scopes=sorted(scopes),
        prefix=tokens.shown_part(secret),
        digest=tokens.digest(secret),
        created_at=now,
        created_by=maker.user,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    record(
        "token.made",
        team_id=token.team_id,
        actor=Actor.person(maker),
        now=now,
        token=_label(token),
        owner=_owner(token),
        scopes=", ".join(token.scopes),
    )
    return Made(token, secret)


def _label(token: ApiToken) -> str:
    """What the log calls it. What somebody calls their own is their words, which are erased with
    them; the log is not.
    """
    return f"{token.prefix}…" if token.user_id else f"{token.name} ({token.prefix}…)"


def _owner(token: ApiToken) -> User | str:
    return token.user or "a service"
