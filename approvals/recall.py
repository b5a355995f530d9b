"""On which remembered approval a call may rest, so that nobody is asked.

At each use the rule of today has to ask and to say that decisions are remembered, and the people
who approved then have to be enough, by that rule and with their rights of today, to approve the
call that is made now.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet

from approvals import policy, remembered
from approvals.models import Approval, Remembered, Verdict
from mcpdesk.accounts import access
from mcpdesk.accounts.models import ApiToken, User
from mcpdesk.audit.log import DESK, record
from tasks_monitor.models import Operation, Server


@dataclass(frozen=True, slots=True)
class Call:
    """A call that somebody wants to make. `user` None: a service, by `token` where it has one."""

    server: Server
    tool_name: str
    arguments: dict[str, Any]
    user: User | None
    token: ApiToken | None = None

    @property
    def user_id(self) -> int | None:
        return self.user.pk if self.user else None

    @property
    def operation(self) -> Operation:
        """What access.requesters() reads of an operation, for the one that it would be."""
        return Operation(started_by_id=self.user_id, token=self.token)


@dataclass(slots=True)
class _Asked:
    """What access.deciders() reads of an approval, for one that the rule of today would make."""

    pk: None
    team_id: int
    audience: str
    people: QuerySet[User]
    four_eyes: bool
    operation: Operation


def find(call: Call, found: policy.Gate, now: datetime, *, lock: bool) -> Remembered | None:
    """The one by which this call need not ask, though the policy says `found`; None: it asks.

    `lock`: hold what is looked at until the transaction ends, so that none is used after it was
    taken back.
    """
    if found.ask is None or found.error or not found.ask.remember:
        return None
    there = Remembered.objects.select_related("approval", "created_by")
    if lock:
        there = there.select_for_update(of=("self",))
    covering = there.filter(_covers(call), revoked_at__isnull=True, ends_at__gt=now).order_by("pk")
    return next((one for one in covering if _is_enough(one, call, found, found.ask, now)), None)


def use(one: Remembered, operation: Operation, now: datetime) -> None:
    """Count a use, and say on the operation that nobody was asked. `one` as find() locked it."""
    Remembered.objects.filter(pk=one.pk).update(uses=F("uses") + 1, last_used_at=now)
    record(
        "remembered.used",
        team_id=one.team_id,
        actor=DESK,
        now=now,
        operation_id=operation.pk,
        server_id=operation.server_id,
        remembered=one.pk,
        person=one.created_by,
    )


def _covers(call: Call) -> Q:
    starter = Q(starter__isnull=True)
    if call.user_id is not None:
        starter |= Q(starter=call.user_id)
    return starter & Q(
        team_id=call.server.team_id,
        server=call.server,
        tool_name=call.tool_name,
        arguments_digest__in=("", remembered.digest(call.arguments)),
    )


def _is_enough(
    one: Remembered, call: Call, found: policy.Gate, ask: policy.Ask, now: datetime
) -> bool:
    """Whether those who approved then could approve this call now, by the rule of today."""
    approval = one.approval
    if approval is None or (approval.policy or {}).get("rule") != found.rule:
        # what was said under one rule says nothing about another
        return False
    requesters = access.requesters(call.operation)
    if ask.four_eyes and one.created_by_id in requesters:
        return False
    ballots = _ballots(approval, call, ask, now)
    came_to = policy.decision(policy.Snapshot(ask, requesters), ballots, now)
    return isinstance(came_to, policy.Approved)


def _ballots(approval: Approval, call: Call, ask: policy.Ask, now: datetime) -> list[policy.Ballot]:
    """The votes of then, of those who would have the right to vote on this call now."""
    who = access.deciders(
        _Asked(
            pk=None,
            team_id=call.server.team_id,
            audience=ask.audience,
            people=User.objects.filter(pk__in=ask.people),
            four_eyes=ask.four_eyes,
            operation=call.operation,
        ),
        now,
    )
    return [
        policy.Ballot(vote.user_id, vote.choice == Verdict.APPROVE, vote.at, vote.acted_for_id)
        for vote in approval.votes.filter(version=approval.version).order_by("at", "pk")
        if access.Right(vote.user_id, vote.acted_for_id) in who.rights
    ]
