"""Escalation: what nobody has decided in time is put to more people, never taken from anybody."""

import logging
from datetime import datetime, timedelta

from approvals import notices, policy
from approvals.events import note
from approvals.gate import snapshot_of
from approvals.models import Approval, Audience
from mcpdesk.accounts import access
from mcpdesk.accounts.models import User
from mcpdesk.audit.log import CLOCK

logger = logging.getLogger(__name__)

#: Audiences that reach the admins already; the approvers are approvers and admins.
_WITH_ADMINS = (Audience.APPROVERS, Audience.ADMINS)


def moments(approval: Approval) -> list[datetime]:
    """When the steps that were not taken yet are due (UTC), in order."""
    return [_at(approval, step) for step in _steps(approval)]


def escalate(approval: Approval, now: datetime) -> bool:
    """Take every step that is due, for an open item that the caller has locked; whether any was.

    A form that is open stays valid: what it shows does not change.
    """
    due = [step for step in _steps(approval) if _at(approval, step) <= now]
    asked_before = {user.pk for user in access.deciders(approval).users} if due else set()
    for step in due:
        _put_to(approval, step)
        approval.escalations += 1
        _note(approval, step, now)
    if due:
        approval.save(update_fields=["audience", "escalations"])
        notices.escalated(approval, asked_before, now)
    return bool(due)


def _steps(approval: Approval) -> tuple[policy.Step, ...]:
    """The steps that lie ahead, as they were fixed when the item was made."""
    if approval.policy is None:
        return ()
    try:
        return snapshot_of(approval).ask.escalation[approval.escalations :]
    except policy.BadRule:
        logger.warning("the policy kept with approval %s cannot be read", approval.pk)
        return ()


def _at(approval: Approval, step: policy.Step) -> datetime:
    return approval.created_at + timedelta(seconds=step.after_s + approval.held_s)


def _put_to(approval: Approval, step: policy.Step) -> None:
    """In addition: whoever is asked already stays asked."""
    approval.people.add(*User.objects.filter(pk__in=step.people))
    starter = None if approval.four_eyes else approval.operation.started_by
    if starter is not None and Audience.REQUESTER in (approval.audience, step.audience):
        # named people count whatever the audience is
        approval.people.add(starter)
    wider = Audience(step.audience)
    if wider is Audience.APPROVERS or (
        wider is Audience.ADMINS and approval.audience not in _WITH_ADMINS
    ):
        approval.audience = wider


def _note(approval: Approval, step: policy.Step, now: datetime) -> None:
    note(
        approval,
        "approval.escalated",
        CLOCK,
        now,
        audience=Audience(step.audience).label,
        step=approval.escalations,
    )
