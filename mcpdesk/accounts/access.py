"""Who may see and do what: the one module that answers, for pages, partials, sockets and commands.

Everything starts from a `Member`: a person in a team, read from the database for each request, so
that a changed role or a deactivation counts at once. Querysets are scoped here; what a member may
not see does not exist for them (404, never 403, for a foreign object). Models of the layers above
are reached through the querysets and objects handed in, never imported.
"""

from collections.abc import Iterable, Sequence
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

from mcpdesk.accounts.models import (
    Absence,
    ApiToken,
    Membership,
    Role,
    SupportGrant,
    Team,
    User,
)

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

#: What a service can be allowed to by the scopes of its token: nobody is there to decide anything.
SERVICE = frozenset({Permission.SEE_OPERATIONS, Permission.OPERATE, Permission.READ_HISTORY})

#: Roles that may decide at all.
DECIDING_ROLES = tuple(role for role in Role if Permission.DECIDE in MATRIX[role])
#: The roles that an approval is put to which is put to roles.
_AUDIENCES: dict[str, tuple[Role, ...]] = {
    "approvers": (Role.APPROVER, Role.ADMIN),
    "admins": (Role.ADMIN,),
}


def audiences_of(role: Role) -> list[str]:
    """The audiences that a role belongs to."""
    return [audience for audience, roles in _AUDIENCES.items() if role in roles]


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a team, as of this request; or a service of the team.

    `stands_in_for`: members who decide, are away now, and named this person as their stand-in.
    Theirs is left empty: who stands in for a stand-in gains nothing by it.
    `service`: its name, empty for people. Its `user` is in no table (service_in).
    """

    user: User
    team: Team
    role: Role
    stands_in_for: tuple["Member", ...] = ()
    service: str = ""

    @property
    def user_id(self) -> int:
        return self.user.pk

    @property
    def team_id(self) -> int:
        return self.team.pk

    def may(self, permission: Permission) -> bool:
        return permission in (SERVICE if self.service else MATRIX[self.role])


def service_in(team: Team, name: str) -> Member:
    """A service of the team, as lists and rules know it.

    Nobody has the id 0: nothing is put to it, nothing was started by it as a person, and whatever
    reads the person again finds none.
    """
    return Member(User(pk=0, name=name, is_active=False), team, Role.VIEWER, service=name)


class OperationLike(Protocol):
    """What of an operation a rule needs; `approvals` is the reverse relation of the layer above."""

    team_id: int
    started_by_id: int | None
    again_by_id: int | None
    token: Any
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


@dataclass(frozen=True, slots=True)
class Deciders:
    """Who may decide an approval at one moment, and every way in which they may.

    A vote counts as long as the right that it was given by is one of these.
    """

    team_id: int
    rights: frozenset[Right] = frozenset()
    users: tuple[User, ...] = ()  # whoever has a right, by name

    @property
    def headcount(self) -> int:
        """How many votes could count: a person and whoever stands in for them are one."""
        return sum(right.acts_for is None for right in self.rights)

    def include(self, member: Member) -> bool:
        """may_decide(), as of that moment."""
        is_one = any(user.pk == member.user_id for user in self.users)
        return member.team_id == self.team_id and member.may(Permission.DECIDE) and is_one

    def acting_for(self, member: Member) -> User | None:
        """Whose stand-in the member decides as; None: in their own right, or not."""
        if Right(member.user_id, None) in self.rights:
            return None
        away = (one.user for one in member.stands_in_for)
        return next((user for user in away if Right(member.user_id, user.pk) in self.rights), None)


def _memberships(user: User) -> QuerySet[Membership]:
    return Membership.objects.filter(user=user, user__is_active=True).select_related("team", "user")


def _away(stand_in: User, at: datetime) -> Iterable[Membership]:
    """Deciding members who are away then and named this person for the team they are away from."""
    # mostly nobody has, and to ask for that alone costs far less
    if not Absence.objects.filter(stand_in=stand_in, starts_at__lte=at, ends_at__gt=at).exists():
        return ()
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


def still_may(member: Member, permission: Permission) -> bool:
    """Whether the person may do it now, asked of the database again: what takes long asks often."""
    now = member_in(member.user, member.team_id)
    return now is not None and now.may(permission)


def in_team(member: Member, queryset: QuerySet[ModelT]) -> QuerySet[ModelT]:
    """Rows of the member's team: servers, operations and approvals, which all roles may list."""
    if not member.may(Permission.SEE_OPERATIONS):
        return queryset.none()
    return queryset.filter(team_id=member.team_id)


def in_teams(memberships: Iterable[Member], queryset: QuerySet[ModelT]) -> QuerySet[ModelT]:
    """Rows of whichever of a person's teams, as in_team() has them of one."""
    may_list = [one for one in memberships if one.may(Permission.SEE_OPERATIONS)]
    return queryset.filter(team_id__in=[one.team_id for one in may_list])


def put_to(member: Member) -> Q:
    """Approvals put to this member, open or not: to them, or to somebody they stand in for.

    The audience was fixed when the approval was made; people who are named count beside it.
    """
    to_me = _in_own_right(member)
    if not member.stands_in_for:
        return to_me
    for away in member.stands_in_for:
        to_me |= _in_own_right(away)
    return to_me & ~asked_for_by(member)


def _in_own_right(member: Member) -> Q:
    """Approvals put to this very member. Four eyes leave out whoever asked for it altogether."""
    to_me = Q(audience="requester", operation__started_by=member.user_id)
    # a sub-query: a join would give an approval once for each person named
    to_me |= Q(Exists(User.objects.filter(pk=member.user_id, approvals_put_to=OuterRef("pk"))))
    to_me |= Q(audience__in=audiences_of(member.role))
    return Q(team_id=member.team_id) & to_me & ~asked_for_by(member)


def asked_for_by(member: Member) -> Q:
    """Four eyes: one of its requesters() cannot decide it, on any path and in any role."""
    theirs = Q(operation__started_by=member.user_id) | Q(operation__again_by=member.user_id)
    by_service = Q(operation__started_by__isnull=True)
    theirs |= by_service & Q(operation__token__created_by=member.user_id)
    return Q(four_eyes=True) & theirs


def requesters(operation: OperationLike) -> frozenset[int]:
    """Who asked for it, by their ids: whoever started it or had it sent again, and, where a service
    started it, whoever made its token: they have held its secret, and can start in its name.
    """
    found = {operation.started_by_id, operation.again_by_id}
    if operation.started_by_id is None and operation.token is not None:
        found.add(operation.token.created_by_id)
    return frozenset(pk for pk in found if pk is not None)


def is_starter(member: Member, operation: OperationLike) -> bool:
    """Whether this member started the operation, or had it sent again."""
    return member.user_id in (operation.started_by_id, operation.again_by_id)


def is_requester(member: Member, operation: OperationLike) -> bool:
    """Whether this member asked for it, themselves or by a service whose token they made."""
    return member.user_id in requesters(operation)


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


def acting_for_rows(member: Member) -> Case | Value:
    """acting_for() as a column of approvals: the id of the person, or null."""
    if not member.stands_in_for:
        return Value(None, output_field=IntegerField())
    whens = [When(_in_own_right(away), then=Value(away.user_id)) for away in member.stands_in_for]
    own = When(_in_own_right(member) | asked_for_by(member), then=Value(None))
    return Case(own, *whens, default=Value(None), output_field=IntegerField())


def _row(approval: ApprovalLike) -> QuerySet[Any]:
    manager = type(approval)._default_manager  # type: ignore[attr-defined]
    return manager.filter(pk=approval.pk)  # type: ignore[no-any-return]


def deciders(approval: DecidedLike, at: datetime | None = None) -> Deciders:
    """Everybody for whom may_decide() is true at `at` (UTC; None: now), in three queries."""
    return deciders_of([approval], at)[0]


def deciders_of(approvals: Sequence[DecidedLike], at: datetime | None = None) -> list[Deciders]:
    """deciders() of each, in as many queries as of one where their `people` are fetched before."""
    teams = {approval.team_id for approval in approvals}
    members = list(
        _deciding(team_id__in=teams)
        .select_related("user")
        .only("team", "role", "user__name", "user__email")
        .order_by("user__name", "user_id")
    )
    now = at or timezone.now()
    away = list(Absence.objects.filter(team_id__in=teams, starts_at__lte=now, ends_at__gt=now))
    return [_deciders(approval, members, away) for approval in approvals]


def _deciders(approval: DecidedLike, members: list[Membership], away: list[Absence]) -> Deciders:
    operation = approval.operation
    barred = requesters(operation) if approval.four_eyes else frozenset()
    here = [m for m in members if m.team_id == approval.team_id and m.user_id not in barred]
    named = {user.pk for user in approval.people.all()}
    named |= {operation.started_by_id} if approval.audience == "requester" else set()
    roles = _AUDIENCES.get(approval.audience, ())
    own = {m.user_id for m in here if m.user_id in named or m.role in roles}
    allowed = {m.user_id for m in here}
    stand_ins = [
        Right(absence.stand_in_id, absence.user_id)
        for absence in away
        if absence.team_id == approval.team_id
        and absence.user_id in own
        and absence.stand_in_id in allowed
    ]
    rights = frozenset([Right(user_id, None) for user_id in own] + stand_ins)
    deciding = {right.user_id for right in rights}
    users = tuple(m.user for m in here if m.user_id in deciding)
    return Deciders(approval.team_id, rights, users)


def deciding_members(team_id: int) -> QuerySet[Membership]:
    """Active members whose role decides what is put to them."""
    return _deciding(team_id=team_id)


def _deciding(**of_teams: Any) -> QuerySet[Membership]:
    return Membership.objects.filter(user__is_active=True, role__in=DECIDING_ROLES, **of_teams)


def may_see_payload(member: Member, operation: OperationLike) -> bool:
    """Arguments, questions, answers and results of an operation.

    Viewers see their own, approvers also those of operations with an approval put to them, a
    service what a token of its name started.
    """
    if member.team_id != operation.team_id:
        return False
    if member.service:
        return _is_of_service(operation.token, member.service)
    if member.may(Permission.SEE_ALL_PAYLOADS) or operation.started_by_id == member.user_id:
        return True
    return member.may(Permission.DECIDE) and operation.approvals.filter(put_to(member)).exists()


def payload_seen(member: Member, approvals: QuerySet[Any]) -> Q:
    """may_see_payload() as a condition on rows that have an `operation`, for lists.

    `approvals` is every approval, from the layer that keeps them.
    """
    if member.may(Permission.SEE_ALL_PAYLOADS):
        return Q(team_id=member.team_id)
    if member.service:
        tokens = Q(operation__token__user__isnull=True, operation__token__name=member.service)
        return Q(team_id=member.team_id) & tokens
    seen = Q(operation__started_by=member.user_id)
    if member.may(Permission.DECIDE):
        put = approvals.filter(put_to(member), operation=OuterRef("operation"))
        seen |= Q(Exists(put))
    return Q(team_id=member.team_id) & seen


def sees_all_messages(member: Member) -> bool:
    """Whether a member sees what became of every message about an item, whoever it went to.

    Operators and admins do, who mend what does not arrive, and auditors, who read each in the log.
    Anybody else sees those to themselves.
    """
    return member.may(Permission.OPERATE) or member.may(Permission.READ_HISTORY)


def messages_seen(member: Member) -> Q:
    """sees_all_messages() as a condition on rows that have a `team` and a `user`."""
    mine = Q(team_id=member.team_id)
    return mine if sees_all_messages(member) else mine & Q(user_id=member.user_id)


def _is_of_service(token: ApiToken | None, name: str) -> bool:
    return token is not None and token.user_id is None and token.name == name


def open_to_support(at: datetime) -> QuerySet[SupportGrant]:
    """The grants of teams that let support staff look at `at` (UTC), by the teams' names."""
    grants = SupportGrant.objects.filter(ends_at__gt=at).select_related("team")
    return grants.order_by("team__name", "team_id")


def seen_by_support(queryset: QuerySet[ModelT], team_path: str, at: datetime) -> QuerySet[ModelT]:
    """Rows that support staff see: of teams that let them look. No grant, no rows.

    `team_path` leads from a row to its team's id.
    """
    teams = list(open_to_support(at).values_list("team_id", flat=True))
    return queryset.filter(**{f"{team_path}__in": teams})
