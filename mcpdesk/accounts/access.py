"""Who may see and do what: the one module that answers, for pages, partials, sockets and commands.

Everything starts from a `Member`: a person in a team, read from the database for each request, so
that a changed role or a deactivation counts at once. Querysets are scoped here; what a member may
not see does not exist for them (404, never 403, for a foreign object). Models of the layers above
are reached through the querysets and objects handed in, never imported.
"""

from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any, Protocol, TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from mcpdesk.accounts.models import Membership, Role, Team, User

ModelT = TypeVar("ModelT", bound=Model)


class Permission(StrEnum):
    """What a role can be allowed to do in a team (domain.md, "Who may see and do what")."""

    SEE_OPERATIONS = auto()
    SEE_ALL_PAYLOADS = auto()  # arguments, answers, results of every operation
    DECIDE = auto()  # approvals that were put to this member
    OPERATE = auto()  # start, cancel, check now, adopt, reconcile
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
        }
    ),
    Role.AUDITOR: frozenset(
        {Permission.SEE_OPERATIONS, Permission.SEE_ALL_PAYLOADS, Permission.READ_HISTORY}
    ),
    Role.ADMIN: frozenset(Permission),
}

#: Roles that an approval put to "the team's approvers" is put to.
APPROVING_ROLES = (Role.APPROVER, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a team, as of this request."""

    user: User
    team: Team
    role: Role

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


def _memberships(user: User) -> QuerySet[Membership]:
    return Membership.objects.filter(user=user, user__is_active=True).select_related("team", "user")


def _member(membership: Membership) -> Member:
    return Member(membership.user, membership.team, Role(membership.role))


def memberships_of(user: User) -> list[Member]:
    """Every team the active person belongs to, by name."""
    return [_member(m) for m in _memberships(user).order_by("team__name", "team_id")]


def member_in(user: User, team_id: int) -> Member | None:
    """The person as a member of that team, or None (not a member, or deactivated)."""
    membership = _memberships(user).filter(team_id=team_id).first()
    return _member(membership) if membership else None


def in_team(member: Member, queryset: QuerySet[ModelT]) -> QuerySet[ModelT]:
    """Rows of the member's team: servers, operations and approvals, which all roles may list."""
    if not member.may(Permission.SEE_OPERATIONS):
        return queryset.none()
    return queryset.filter(team_id=member.team_id)


def put_to(member: Member) -> Q:
    """Approvals put to this member, open or not: the audience fixed when the approval was made."""
    to_me = Q(audience="requester", operation__started_by=member.user_id) | Q(
        audience="people", people=member.user_id
    )
    if member.role in APPROVING_ROLES:
        to_me |= Q(audience="approvers")
    return Q(team_id=member.team_id) & to_me & ~started_by_same(member)


def started_by_same(member: Member) -> Q:
    """Four eyes: whoever started it cannot decide it, on any path and in any role."""
    return Q(four_eyes=True, operation__started_by=member.user_id)


def was_put_to(member: Member, approval: ApprovalLike) -> bool:
    """Whether this approval was put to this member."""
    manager = type(approval)._default_manager  # type: ignore[attr-defined]
    return bool(manager.filter(put_to(member), pk=approval.pk).exists())


def may_decide(member: Member, approval: ApprovalLike) -> bool:
    """Role and audience together; state, deadline and version are the verb's own checks."""
    return (
        member.team_id == approval.team_id
        and member.may(Permission.DECIDE)
        and was_put_to(member, approval)
    )


def deciders(approval: DecidedLike) -> QuerySet[Membership]:
    """Everybody for whom may_decide() is true right now, in one query."""
    roles = [role for role, permissions in MATRIX.items() if Permission.DECIDE in permissions]
    starter = approval.operation.started_by_id
    found = Membership.objects.filter(
        team_id=approval.team_id, user__is_active=True, role__in=roles
    )
    if approval.audience == "approvers":
        found = found.filter(role__in=APPROVING_ROLES)
    elif approval.audience == "requester":
        found = found.filter(user_id=starter)
    else:
        found = found.filter(user__in=approval.people.all())
    return found.exclude(user_id=starter) if approval.four_eyes and starter else found


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
