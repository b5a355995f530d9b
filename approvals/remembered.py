"""Approvals that count for later calls too: left by who decided, listed, taken back (used: recall).

One allows nothing by itself.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from approvals import policy
from approvals.models import Approval, ApprovalState, Kind, Remembered, Verdict
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.errors import Refused
from mcpdesk.audit.log import DESK, Actor, record
from mcpdesk.audit.models import Channel
from mcpdesk.mcp.jsontext import canonical

MIN_HOURS: Final = 1
MAX_HOURS: Final = 30 * 24
#: How long after a decision whoever made it can still have it remembered.
JUST_DECIDED: Final = timedelta(minutes=15)

NOT_ALLOWED = "The rule that asked does not let decisions be remembered."
NOT_LAST = "Only whoever approved it last, and just now, can have it remembered."
ALREADY = "This approval is remembered already."
BAD_HOURS = f"It is remembered for {MIN_HOURS} to {MAX_HOURS} hours."
A_SERVICE = "A service started this, no person: it can be remembered for the whole team only."
NOT_YOURS = "Only an admin, or whoever had it remembered, takes it back. Nothing was changed."


@dataclass(frozen=True, slots=True)
class Scope:
    """Which later calls an approval counts for, and for how long (1 hour to 30 days)."""

    any_arguments: bool
    whole_team: bool
    hours: int


def digest(arguments: Any) -> str:
    """Stands for exactly these arguments: SHA-256 (hex) of their canonical JSON."""
    return hashlib.sha256(canonical(arguments).encode()).hexdigest()


# --- leaving one


def may_leave(approval: Approval) -> bool:
    """Whether a decision on this gate may be remembered, as its own rule said when it was made."""
    kept = approval.policy if isinstance(approval.policy, dict) else {}
    if approval.kind != Kind.GATE or kept.get("failed"):
        return False
    return policy.read_ask(kept.get("ask")).remember


def leave(
    approval: Approval,
    member: Member,
    scope: Scope,
    now: datetime,
    channel: Channel = Channel.WEB,
) -> Remembered:
    """Have an approval remembered, in the transaction of the decision or of remember().

    `approval` is locked, and was just decided. Raises Refused.
    """
    _check(approval, member, scope, now)
    operation = approval.operation
    left = Remembered.objects.create(
        team_id=approval.team_id,
        server_id=operation.server_id,
        tool_name=operation.tool_name,
        arguments_digest="" if scope.any_arguments else digest(operation.payload.arguments),
        starter_id=None if scope.whole_team else operation.started_by_id,
        approval=approval,
        created_by=member.user,
        created_at=now,
        ends_at=now + timedelta(hours=scope.hours),
    )
    record(
        "remembered.left",
        team_id=approval.team_id,
        actor=Actor.person(member, channel),
        now=now,
        operation_id=operation.pk,
        approval_id=approval.pk,
        server_id=operation.server_id,
        remembered=left.pk,
        hours=scope.hours,
        arguments="any arguments" if scope.any_arguments else "the same arguments",
        starter="whoever starts it" if scope.whole_team else "the same person",
    )
    return left


def remember(approval_id: UUID, *, member: Member, scope: Scope, now: datetime) -> Remembered:
    """Have a decision remembered that the member has just made. Raises Refused."""
    with transaction.atomic(durable=True):
        approval = _locked(approval_id, member.team_id)
        current = access.member_in(member.user, member.team_id)
        if approval is None or current is None:
            raise Refused("There is no such item.")
        return leave(approval, current, scope, now)


def _locked(approval_id: UUID, team_id: int) -> Approval | None:
    mine = Approval.objects.filter(pk=approval_id, team_id=team_id)
    return mine.select_for_update(of=("self",)).select_related("operation__payload").first()


def can_still_leave(approval: Approval, member: Member, now: datetime) -> bool:
    """Whether the member has just approved this gate, last, and nothing of it is remembered yet."""
    return (
        _decided_just_now(approval, member, now)
        and may_leave(approval)
        and not Remembered.objects.filter(approval=approval).exists()
    )


def _decided_just_now(approval: Approval, member: Member, now: datetime) -> bool:
    return (
        approval.state == ApprovalState.DECIDED
        and approval.decision == Verdict.APPROVE
        and approval.decided_by_id == member.user_id
        and member.may(Permission.DECIDE)
        and approval.decided_at is not None
        and now - approval.decided_at <= JUST_DECIDED
        and approval.votes.filter(user=member.user_id, version=approval.version).exists()
    )


def _check(approval: Approval, member: Member, scope: Scope, now: datetime) -> None:
    if not may_leave(approval):
        raise Refused(NOT_ALLOWED)
    if not _decided_just_now(approval, member, now):
        raise Refused(NOT_LAST)
    if not MIN_HOURS <= scope.hours <= MAX_HOURS:
        raise Refused(BAD_HOURS)
    if not scope.whole_team and approval.operation.started_by_id is None:
        raise Refused(A_SERVICE)
    if Remembered.objects.filter(approval=approval).exists():
        raise Refused(ALREADY)


# --- listing and taking back


def of_team(team_id: int) -> QuerySet[Remembered]:
    """All of a team, the latest first."""
    related = ("server", "starter", "created_by", "revoked_by")
    return Remembered.objects.filter(team_id=team_id).select_related(*related).order_by("-pk")


def in_force(team_id: int, now: datetime) -> QuerySet[Remembered]:
    """Those neither over nor taken back at `now` (UTC)."""
    return of_team(team_id).filter(revoked_at__isnull=True, ends_at__gt=now)


def over(team_id: int, now: datetime) -> QuerySet[Remembered]:
    """Those that ended by `now` (UTC), by themselves or because somebody took them back."""
    return of_team(team_id).filter(Q(revoked_at__isnull=False) | Q(ends_at__lte=now))


def may_revoke(member: Member, one: Remembered) -> bool:
    """Admins, and the person who made it, whatever their role is by now."""
    return member.may(Permission.ADMINISTER) or one.created_by_id == member.user_id


def revoke(remembered_id: int, *, member: Member, now: datetime) -> Remembered:
    """Take one back; it is not used from then on. Again: nothing more. Raises Refused."""
    with transaction.atomic(durable=True):
        mine = of_team(member.team_id).select_for_update(of=("self",), no_key=True)
        one = mine.filter(pk=remembered_id).first()
        current = access.member_in(member.user, member.team_id)
        if one is None or current is None:
            raise Refused("There is no such remembered approval.")
        if not may_revoke(current, one):
            raise Refused(NOT_YOURS)
        if one.revoked_at is None:
            one.revoked_at, one.revoked_by = now, current.user
            one.save(update_fields=["revoked_at", "revoked_by"])
            _record_revoked(one, Actor.person(current), now)
        return one


def end_for_server(server_id: int, now: datetime) -> None:
    """Take back all of a server that comes to be called as somebody else: it is another call now.

    Part of the transaction of that change.
    """
    _nothing_more(server_id, now)
    standing = Remembered.objects.filter(
        server_id=server_id, revoked_at__isnull=True, ends_at__gt=now
    )
    locked = standing.select_for_update(of=("self",), no_key=True)
    for one in locked.select_related("created_by").order_by("pk"):
        one.revoked_at = now
        one.save(update_fields=["revoked_at"])
        _record_revoked(one, DESK, now)


def _nothing_more(server_id: int, now: datetime) -> None:
    """What was approved just now spoke of the call as it was: no later one can rest on it."""
    latest = Approval.objects.filter(
        operation__server_id=server_id,
        kind=Kind.GATE,
        decision=Verdict.APPROVE,
        decided_at__gte=now - JUST_DECIDED,
    )
    locked = latest.order_by("pk").select_for_update(no_key=True, of=("self",))
    ids = list(locked.values_list("pk", flat=True))
    Approval.objects.filter(pk__in=ids).update(version=F("version") + 1)


def _record_revoked(one: Remembered, actor: Actor, now: datetime) -> None:
    record(
        "remembered.revoked",
        team_id=one.team_id,
        actor=actor,
        now=now,
        server_id=one.server_id,
        remembered=one.pk,
        tool=one.tool_name[:200],
        person=one.created_by,
    )
