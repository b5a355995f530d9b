"""Reminders: at half and at nine tenths of an item's time, each at most once."""

from datetime import datetime, timedelta
from typing import Final

from approvals import notices
from approvals.events import note
from approvals.models import Approval
from mcpdesk.audit.log import CLOCK

#: The parts of an item's time after which it is spoken of again.
PARTS: Final = (0.5, 0.9)
_WORDS: Final = ("half", "nine tenths")


def moments(approval: Approval) -> list[datetime]:
    """When its reminders are due (UTC). Time that stood still in a hold does not count."""
    if approval.deadline_at is None:
        return []
    whole = approval.deadline_at - approval.created_at - timedelta(seconds=approval.held_s)
    return [approval.deadline_at - whole * (1 - part) for part in PARTS]


def remind(approval: Approval, now: datetime) -> bool:
    """Remind of an open item that the caller has locked, where it is time; whether it was.

    After a clock that stood still for long only the latest reminder is sent.
    """
    passed = sum(at <= now for at in moments(approval))
    if passed <= approval.reminders:
        return False
    approval.reminders = passed
    approval.save(update_fields=["reminders"])
    note(approval, "approval.reminded", CLOCK, now, part=_WORDS[passed - 1])
    notices.reminded(approval, now)
    return True
