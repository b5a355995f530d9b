"""What people are told of an item, and when: written into the outbox with the change it is about.

Each function is called in the transaction of that change, with the item locked. Whom a message goes
to and what it may say is decided here; how and when it is sent is for mcpdesk.notify.
"""

from datetime import datetime

from approvals.models import Approval, Comment
from mcpdesk.accounts.models import User


def opened(approval: Approval, now: datetime) -> None:
    """A new item waits: whoever may decide it is told."""


def reminded(approval: Approval, now: datetime) -> None:
    """Half or nine tenths of its time are over, and it is still open."""


def escalated(approval: Approval, now: datetime) -> None:
    """It was put to more people: those who had not been asked before are told."""


def commented(comment: Comment, now: datetime) -> None:
    """Somebody asked or said something: who was mentioned, and who started it, are told."""


def handed(approval: Approval, to: User, by: User, now: datetime) -> None:
    """A colleague was given the item."""


def closed(approval: Approval, now: datetime) -> None:
    """It is over: what was not sent yet is dropped, what was sent says what came of it."""


def nobody_left(approval: Approval, now: datetime) -> None:
    """Nobody may decide it any more: the admins are alerted, once."""


def somebody_again(approval: Approval, now: datetime) -> None:
    """Somebody may decide it again, or it closed: the alert is over."""


def rule_failed(team_id: int, rule: str, sentence: str, now: datetime) -> None:
    """A rule of the policy could not be applied, so that it asked: the admins are told."""
