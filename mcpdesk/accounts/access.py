"""Who may see and do what: the one module that answers, for pages, partials, sockets and commands.

Everything starts from a `Member`: a person in a team, read from the database for each request, so
that a changed role or a deactivation counts at once. Querysets are scoped here; what a member may
not see does not exist for them (404, never 403, for a foreign object). Models of the layers above
are reached through the querysets and objects handed in, never imported.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum, auto
from typing import Any, NamedTuple, Protocol, TypeVar

from django.db.models import (
    Case,
    Exists,
    F,
    IntegerField,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.utils import timezone

from mcpdesk.accounts.models import Absence, Membership, Role, Team, User

ModelT = TypeVar("ModelT", bound=Model)


class Permission(StrEnum):
    """What a role can be allowed to do in a team (domain.md, "Who may see and do what")."""

    SEE_OPERATIONS = auto()
    SEE_ALL_PAYLOADS = auto()  # arguments, answers, results of every operation
    DECIDE = auto()  # approvals that were put to this member
    OPERATE = auto()  # start, cancel, check now, adopt
    RECONCILE = auto()  # say what became of what the desk cannot follow
    READ_HISTORY = auto()  # the whole log, and its export
    ADMINISTER = auto()  # servers, policies, members, tokens


MATRIX: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: frozenset({Permission.SEE_OPERATIONS}),
    Role.APPROVER: frozenset({Permission.SEE_OPERATIONS, Permission.DECIDE}),
    Role.OPERATOR: frozenset(
        {
            Permission.SEE_OPERATIONS,
            Permission.SEE_ALL_PAYLOADS,
            Permission.DECIDE,
            Permission.OPERATE,
            Permission.RECONCILE,
        }
    ),
    Role.AUDITOR: frozenset(
        {Permission.SEE_OPERATIONS, Permission.SEE_ALL_PAYLOADS, Permission.READ_HISTORY}
    ),
    Role.ADMIN: frozenset(Permission),
}

#: Roles that may decide at all.
DECIDING_ROLES = tuple(role for role in Role if Permission.DECIDE in MATRIX[role])
#: The roles that an approval is put to which is put to roles.
_AUDIENCES: dict[str, tuple[Role, ...]] = {
    "approvers": (Role.APPROVER, Role.ADMIN),
    "admins": (Role.ADMIN,),
}


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a team, as of this request.

    `stands_in_for`: members who decide, are away now, and named this person as their stand-in.
    Theirs is left empty: who stands in for a stand-in gains nothing by it.
    """

    user: User
    team: Team
    role: Role
    stands_in_for: tuple["Member", ...] = ()

    @property
    def user_id(self) -> int:
        return self.user.pk

    @property
    def team_id(self) -> int:
        return self.team.pk

    def may(self, permission: Permission) -> bool:
        return permission in MATRIX[self.role]


class OperationLike(Protocol):
    """What of an operation a rule needs; `approvals` is the reverse relation of the layer above."""

    team_id: int
    started_by_id: int | None
    approvals: Any


class ApprovalLike(Protocol):
    pk: Any
    team_id: int


class DecidedLike(ApprovalLike, Protocol):
    """What of an approval says who may decide it."""

    audience: str
    people: Any
    four_eyes: bool
    operation: Any


class Right(NamedTuple):
    """One way in which somebody may decide; `acts_for` None: in their own right."""

    user_id: int
    acts_for: int | None


def _memberships(user: User) -> QuerySet[Membership]:
    return Membership.objects.filter(user=user, user__is_active=True).select_related("team", "user")


def _away(stand_in: User, at: datetime) -> QuerySet[Membership]:
    """Deciding members who are away then and named this person for the team they are away from."""
    return (
        Membership.objects.filter(
            role__in=DECIDING_ROLES,
            user__is_active=True,
            user__absences__team=F("team"),
            user__absences__stand_in=stand_in,
            user__absences__starts_at__lte=at,
            user__absences__ends_at__gt=at,
        )
        .select_related("team", "user")
        .order_by("pk")
        .distinct()
    )


def _members(memberships: QuerySet[Membership], user: User, at: datetime | None) -> list[Member]:
    away = [_member(one) for one in _away(user, at or timezone.now())]
    return [_member(one, away) for one in memberships]


def _member(membership: Membership, away: list[Member] | None = None) -> Member:
    role = Role(membership.role)
    decides = role in DECIDING_ROLES
    stands_in_for = [one for one in away or [] if decides and one.team_id == membership.team_id]
    return Member(membership.user, membership.team, role, tuple(stands_in_for))


def memberships_of(user: User, at: datetime | None = None) -> list[Member]:
    """Every team the active person belongs to, by name; `at` (UTC) None: as of now."""
    return _members(_memberships(user).order_by("team__name", "team_id"), user, at)


def member_in(user: User, team_id: int, at: datetime | None = None) -> Member | None:
    """The person as a member of that team, or None (not a member, or deactivated)."""
    found = _members(_memberships(user).filter(team_id=team_id), user, at)
    return found[0] if found else None


def in_team(member: Member, queryset: QuerySet[ModelT]) -> QuerySet[ModelT]:
    """Rows of the member's team: servers, operations and approvals, which all roles may list."""
    if not member.may(Permission.SEE_OPERATIONS):
        return queryset.none()
    return queryset.filter(team_id=member.team_id)


def put_to(member: Member) -> Q:
    """Approvals put to this member, open or not: to them, or to somebody they stand in for.

    The audience was fixed when the approval was made; people who are named count beside it.
    """
    to_me = _in_own_right(member)
    for away in member.stands_in_for:
        to_me |= _in_own_right(away)
    return to_me & ~started_by_same(member)


def _in_own_right(member: Member) -> Q:
    """Approvals put to this very member. Whoever started it is left out of four eyes altogether."""
    to_me = Q(audience="requester", operation__started_by=member.user_id)
    # a sub-query: a join would give an approval once for each person named
    to_me |= Q(Exists(User.objects.filter(pk=member.user_id, approvals_put_to=OuterRef("pk"))))
    audiences = [audience for audience, roles in _AUDIENCES.items() if member.role in roles]
    to_me |= Q(audience__in=audiences)
    return Q(team_id=member.team_id) & to_me & ~started_by_same(member)


def started_by_same(member: Member) -> Q:
    """Four eyes: whoever started it cannot decide it, on any path and in any role."""
    return Q(four_eyes=True, operation__started_by=member.user_id)


def was_put_to(member: Member, approval: ApprovalLike) -> bool:
    """Whether this approval was put to this member."""
    return _row(approval).filter(put_to(member)).exists()


def may_decide(member: Member, approval: ApprovalLike) -> bool:
    """Role and audience together; state, deadline and version are the verb's own checks."""
    return (
        member.team_id == approval.team_id
        and member.may(Permission.DECIDE)
        and was_put_to(member, approval)
    )


def acting_for(member: Member, approval: ApprovalLike) -> User | None:
    """Whose stand-in the member decides this approval as; None: in their own right, or not."""
    acts_for = _row(approval).values_list(acting_for_rows(member), flat=True).first()
    return next((away.user for away in member.stands_in_for if away.user_id == acts_for), None)


def acting_for_rows(member: Member) -> Case:
    """acting_for() as a column of approvals: the id of the person, or null."""
    whens = [When(_in_own_right(away), then=Value(away.user_id)) for away in member.stands_in_for]
    own = When(_in_own_right(member) | started_by_same(member), then=Value(None))
    return Case(own, *whens, default=Value(None), output_field=IntegerField())


def _row(approval: ApprovalLike) -> QuerySet[Any]:
    manager = type(approval)._default_manager  # type: ignore[attr-defined]
    return manager.filter(pk=approval.pk)  # type: ignore[no-any-return]


def deciders(approval: DecidedLike, at: datetime | None = None) -> QuerySet[Membership]:
    """Everybody for whom may_decide() is true at `at` (UTC; None: now), in one query."""
    own = _deciders_in_own_right(approval)
    stand_ins = _absences(approval, own, at).values("stand_in")
    allowed = _allowed(approval)
    return allowed.filter(Q(pk__in=own.values("pk")) | Q(user__in=stand_ins))


def rights(approval: DecidedLike, at: datetime | None = None) -> frozenset[Right]:
    """Every way in which somebody may decide at `at` (UTC; None: now), in two queries.

    A vote counts as long as the right that it was given by is one of these.
    """
    own = _deciders_in_own_right(approval)
    stand_ins = _absences(approval, own, at).filter(stand_in__in=_allowed(approval).values("user"))
    return frozenset(
        [Right(user_id, None) for user_id in own.values_list("user_id", flat=True)]
        + [Right(*pair) for pair in stand_ins.values_list("stand_in_id", "user_id")]
    )


def headcount(approval: DecidedLike) -> int:
    """How many votes could count: a person and whoever stands in for them are one."""
    return _deciders_in_own_right(approval).count()


def deciding_members(team_id: int) -> QuerySet[Membership]:
    """Active members whose role decides what is put to them."""
    return Membership.objects.filter(team_id=team_id, user__is_active=True, role__in=DECIDING_ROLES)


def _allowed(approval: DecidedLike) -> QuerySet[Membership]:
    """Who may decide at all: without whoever started it where four eyes are asked."""
    found = deciding_members(approval.team_id)
    starter = approval.operation.started_by_id
    return found.exclude(user_id=starter) if approval.four_eyes and starter else found


def _deciders_in_own_right(approval: DecidedLike) -> QuerySet[Membership]:
    asked = Q(user__in=approval.people.all())
    asked |= Q(role__in=_AUDIENCES.get(approval.audience, ()))
    if approval.audience == "requester":
        asked |= Q(user_id=approval.operation.started_by_id)
    return _allowed(approval).filter(asked)


def _absences(
    approval: DecidedLike, own: QuerySet[Membership], at: datetime | None
) -> QuerySet[Absence]:
    """Absences from the approval's team of those who decide it in their own right."""
    now = at or timezone.now()
    return Absence.objects.filter(
        team_id=approval.team_id,
        user__in=own.values("user"),
        starts_at__lte=now,
        ends_at__gt=now,
    )


def may_see_payload(member: Member, operation: OperationLike) -> bool:
    """Arguments, questions, answers and results of an operation.

    Viewers see their own, approvers also those of operations with an approval put to them.
    """
    if member.team_id != operation.team_id:
        return False
    if member.may(Permission.SEE_ALL_PAYLOADS) or operation.started_by_id == member.user_id:
        return True
    return member.may(Permission.DECIDE) and operation.approvals.filter(put_to(member)).exists()


def payload_seen(member: Member, approvals: QuerySet[Any]) -> Q:
    """may_see_payload() as a condition on rows that have an `operation`, for lists.

    `approvals` is every approval, from the layer that keeps them.
    """
    if member.may(Permission.SEE_ALL_PAYLOADS):
        return Q(team_id=member.team_id)
    seen = Q(operation__started_by=member.user_id)
    if member.may(Permission.DECIDE):
        put = approvals.filter(put_to(member), operation=OuterRef("operation"))
        seen |= Q(Exists(put))
    return Q(team_id=member.team_id) & seen
