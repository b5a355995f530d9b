"""The verbs of the Team page, each one transaction with its event in every team concerned."""

import secrets
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet

from approvals.alertness import look_again
from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Membership, Role, Team, User
from mcpdesk.accounts.setup import check_password, checked_email, refuse_second_account
from mcpdesk.audit.admins import locked_for
from mcpdesk.audit.log import Actor, record
from mcpdesk.web.names import checked_name, refuse_taken

TEMPORARY_PASSWORD_BYTES = 12


@dataclass(frozen=True, slots=True)
class Added:
    """A new member. `temporary_password` is set only where the desk made one; shown once."""

    membership: Membership
    temporary_password: str | None


@transaction.atomic(durable=True)
def add_member(
    *, team_id: int, email: str, name: str, role: Role, password: str, actor: Actor, now: datetime
) -> Added:
    """Add a person to the team, making their account when there is none.

    An empty password for a new account makes the desk invent one. Raises `Refused` and
    `PermissionDenied`.
    """
    team = locked_for(actor, team_id)
    address = checked_email(email)
    user = User.objects.filter(email__iexact=address).first()
    made = None
    if user is None:
        user, made = _new_user(address, name, password, team)
    elif not user.is_active:
        raise Refused(f"{user} was deactivated and cannot be added to a team.")
    else:
        refuse_taken(str(user), teams=[team.pk], person=user)
    membership, created = Membership.objects.get_or_create(
        team=team, user=user, defaults={"role": role}
    )
    if not created:
        raise Refused(f"{user} is in this team already, as {membership.get_role_display()}.")
    record("member.added", team_id=team.pk, actor=actor, now=now, person=user, role=role)
    look_again(team.pk)
    return Added(membership, made)


@transaction.atomic(durable=True)
def change_role(
    membership_id: int, *, team_id: int, role: Role, actor: Actor, now: datetime
) -> Membership:
    """Give a member another role. Raises `PermissionDenied`, and `Refused`, also for the team's
    last admin.
    """
    team = locked_for(actor, team_id)
    membership = _membership(team, membership_id)
    before = membership.role
    if before == role:
        return membership
    _keep_an_admin(membership)
    membership.role = role
    membership.save(update_fields=["role"])
    record(
        "member.role_changed",
        team_id=team.pk,
        actor=actor,
        now=now,
        person=membership.user,
        before=before,
        after=role,
    )
    look_again(team.pk)
    return membership


@transaction.atomic(durable=True)
def remove_member(membership_id: int, *, team_id: int, actor: Actor, now: datetime) -> None:
    """Take a person out of the team; their account and their votes stay. Raises
    `PermissionDenied`, and `Refused`, also for the team's last admin.
    """
    team = locked_for(actor, team_id)
    membership = _membership(team, membership_id)
    _keep_an_admin(membership)
    membership.delete()
    record("member.removed", team_id=team.pk, actor=actor, now=now, person=membership.user)
    look_again(team.pk)


@transaction.atomic(durable=True)
def deactivate(membership_id: int, *, team_id: int, actor: Actor, now: datetime) -> None:
    """Close a person's account: no sign-in, no session, no socket; votes keep the name.

    Counts in every team of the person, so each of them gets the event. Raises `Refused` where
    the actor is not an admin of all these teams, or one of them would be left without an admin.
    """
    user, everywhere = _whole_person(membership_id, team_id, actor)
    for one in everywhere:
        _keep_an_admin(one)
    user.is_active = False
    user.save(update_fields=["is_active"])
    _record_everywhere("user.deactivated", everywhere, actor, now)
    _look_again_everywhere(everywhere)


@transaction.atomic(durable=True)
def reactivate(membership_id: int, *, team_id: int, actor: Actor, now: datetime) -> None:
    """Open a closed account again, with the password and the roles it had. Raises `Refused`."""
    user, everywhere = _whole_person(membership_id, team_id, actor)
    if user.log_salt is None:
        raise Refused(f"{user} was erased: there is nobody to let in again.")
    refuse_second_account(user.email)
    user.is_active = True
    user.save(update_fields=["is_active"])
    _record_everywhere("user.reactivated", everywhere, actor, now)
    _look_again_everywhere(everywhere)


@transaction.atomic(durable=True)
def give_password(
    membership_id: int, *, team_id: int, actor: Actor, now: datetime
) -> tuple[User, str]:
    """A new temporary password for somebody who forgot theirs; it ends their sessions.

    Raises `Refused` for oneself, and where the actor is not an admin of all teams of the person.
    """
    user, everywhere = _whole_person(membership_id, team_id, actor)
    if user == actor.user:
        raise Refused("Change your own password in the user menu.")
    password = _temporary_password()
    user.set_password(password)
    user.save(update_fields=["password"])
    _record_everywhere("user.password_set", everywhere, actor, now)
    return user, password


@transaction.atomic(durable=True)
def sign_out(membership_id: int, *, team_id: int, actor: Actor, now: datetime) -> None:
    """End every session of a person, and with them the open pages; their tokens go on.

    Raises `Refused` where the actor is not an admin of all teams of the person.
    """
    user, everywhere = _whole_person(membership_id, team_id, actor)
    _end_sessions(user, everywhere, actor, now)


@transaction.atomic(durable=True)
def sign_out_oneself(user: User, *, actor: Actor, now: datetime) -> None:
    """End every session of one's own, this one too."""
    _end_sessions(user, list(_locked_memberships(user)), actor, now)


def _end_sessions(user: User, everywhere: list[Membership], actor: Actor, now: datetime) -> None:
    # each session is checked with this count; the events have open sockets look at once
    User.objects.filter(pk=user.pk).update(sign_outs=F("sign_outs") + 1)
    _record_everywhere("user.signed_out", everywhere, actor, now)


def _whole_person(membership_id: int, team_id: int, actor: Actor) -> tuple[User, list[Membership]]:
    """A person and all their memberships, locked, for what counts in every team of theirs."""
    user = _membership(Team.objects.get(pk=team_id), membership_id).user
    everywhere = list(_locked_memberships(user))
    for one in everywhere:
        _require_admin(actor, one)
    return user, everywhere


def _record_everywhere(
    kind: str, everywhere: list[Membership], actor: Actor, now: datetime
) -> None:
    for one in everywhere:
        record(kind, team_id=one.team_id, actor=actor, now=now, person=one.user)


def _look_again_everywhere(everywhere: list[Membership]) -> None:
    for one in everywhere:
        look_again(one.team_id)


def _new_user(email: str, name: str, password: str, team: Team) -> tuple[User, str | None]:
    refuse_second_account(email)
    kept = checked_name(name if name.strip() else email.split("@")[0], teams=[team.pk])
    user = User(email=email, name=kept)
    made = None if password else _temporary_password()
    if password:
        check_password(password, user)
    user.set_password(made or password)
    user.save()
    return user, made


def _temporary_password() -> str:
    return secrets.token_urlsafe(TEMPORARY_PASSWORD_BYTES)


def _locked_memberships(user: User) -> QuerySet[Membership]:
    """All memberships of a person, their teams locked in one order."""
    teams = user.memberships.values("team")
    list(Team.objects.select_for_update(no_key=True).filter(pk__in=teams).order_by("pk"))
    return user.memberships.select_related("team", "user")


def _membership(team: Team, membership_id: int) -> Membership:
    """The membership, if it is one of this team. Raises Membership.DoesNotExist."""
    return team.memberships.select_related("user").get(pk=membership_id)


def _keep_an_admin(membership: Membership) -> None:
    others = Membership.objects.filter(
        team=membership.team_id, role=Role.ADMIN, user__is_active=True
    ).exclude(pk=membership.pk)
    if membership.role == Role.ADMIN and not others.exists():
        raise Refused(
            f"{membership.user} is the only admin of the team. Make somebody else an admin first."
        )


def _require_admin(actor: Actor, membership: Membership) -> None:
    admins = Membership.objects.filter(
        team=membership.team_id, role=Role.ADMIN, user__is_active=True
    )
    if not admins.filter(user=actor.user).exists():
        raise Refused(
            f"{membership.user} is also in a team that you are not an admin of. "
            "You can remove them from this team instead."
        )
