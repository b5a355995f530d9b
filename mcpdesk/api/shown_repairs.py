"""What can be done about an operation that broke, as the API shows it: what its page shows."""

from typing import Any

from approvals import repairable
from approvals.repairable import About
from mcpdesk.accounts.access import Member
from mcpdesk.api.schemas import Links
from mcpdesk.api.shown import address
from tasks_monitor import wording
from tasks_monitor.models import Operation, Repair, RepairState


def repairs(found: Operation, member: Member) -> dict[str, Any]:
    """For somebody who repairs operations of the team."""
    about = repairable.read(found)
    proposed = about.proposed
    return {
        "operation_id": found.pk,
        "state": found.state,
        "words": wording.outcome(found),
        "explanation": found.explanation,
        "broken": about.is_broken,
        "known": about.known,
        "not_known": about.not_known,
        "choices": _choices(about),
        "needs_two": about.needs_two,
        "proposed": _repair(proposed, member) if proposed is not None else None,
        "past": [
            {**_repair(one.repair, member), "at_the_gate": one.at_the_gate} for one in about.past
        ],
        "seen": about.seen,
        "links": Links(
            self=address("api:repair", found.pk), page=address("operation_reconcile", found.pk)
        ),
    }


def _choices(about: About) -> list[dict[str, Any]]:
    names = ("choice", "words", "consequence", "gate", "why_not", "needs")
    options = about.options if about.is_broken else []
    return [{name: getattr(option, name) for name in names} for option in options]


def _repair(one: Repair, member: Member) -> dict[str, Any]:
    """The words of it are gone where what the operation carried was deleted."""
    words = {name: one.content.get(name, "") for name in ("reason", "evidence", "refused_because")}
    is_open = one.state == RepairState.PROPOSED
    return {
        "id": one.pk,
        "choice": one.choice,
        "state": one.state,
        **words,
        "task_id": one.content.get("task_id", "") if is_open else "",
        "proposed_by": str(one.proposed_by),
        "proposed_at": one.proposed_at,
        "decided_by": str(one.decided_by) if one.decided_by else None,
        "decided_at": one.decided_at,
        "yours": one.proposed_by_id == member.user_id,
    }
