"""Comments: what colleagues say to each other about an item. Nothing of it goes to the server."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from approvals import notices
from approvals.locking import locked
from approvals.models import Approval, Comment
from approvals.outcomes import Missing, Refused
from approvals.votes import Turn
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import User
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from mcpdesk.mcp.jsontext import storable

MAX_CHARS = 2000
MAX_COMMENTS = 500
NOTHING_SAID = "Write something first."
TOO_LONG = f"A comment has at most {MAX_CHARS:,} characters of text. Nothing was written."
TOO_MANY = f"An item has at most {MAX_COMMENTS} comments. Nothing was written."
DELETED = "What this item carried was deleted, so that nothing is kept here any more."
NOT_YOURS = "Only those who may read this item can comment on it."


@dataclass(frozen=True, slots=True)
class Commented:
    """Written. `untold` were named in it and may not read the item, so they were not told."""

    comment: Comment
    untold: tuple[User, ...] = ()


Outcome = Commented | Refused | Missing


def add(
    approval_id: UUID,
    *,
    member: Member,
    text: str,
    now: datetime,
    channel: Channel = Channel.WEB,
) -> Outcome:
    """Write a comment on an item, open or over, and tell whom it names with an @.

    What is not `Commented` has written nothing.
    """
    with transaction.atomic(durable=True):
        approval = locked(approval_id, member.team_id)
        current = access.member_in(member.user, member.team_id, now)
        if approval is None or current is None:
            return Missing()
        refusal = why_not(approval, current, text)
        if refusal is not None:
            return Refused(refusal)
        return write(Turn(approval, current, Actor.person(current, channel), now), text)


def why_not(approval: Approval, member: Member, text: str) -> str | None:
    """What stands against this comment of this member, in a sentence; None: nothing."""
    if not access.may_see_payload(member, approval.operation):
        return NOT_YOURS
    if approval.operation.payload_deleted_at is not None:
        return DELETED
    if not text.strip():
        return NOTHING_SAID
    if len(text) > MAX_CHARS or not storable(text):
        return TOO_LONG
    return TOO_MANY if approval.comments.count() >= MAX_COMMENTS else None


def write(turn: Turn, text: str, also: Iterable[User] = ()) -> Commented:
    """Write what why_not() has nothing against, in the caller's transaction.

    `also` are told too, whether or not the text names them.
    """
    approval, author = turn.approval, turn.member.user
    named, untold = _named(approval, turn.member, text)
    comment = Comment.objects.create(approval=approval, user=author, text=text.strip(), at=turn.now)
    comment.mentions.set({*named, *also} - {author})
    turn.note("approval.commented")
    notices.commented(comment, turn.now)
    return Commented(comment, tuple(untold))


def of(approval: Approval) -> QuerySet[Comment]:
    """What was said about an item, oldest first."""
    # fetched apart: mostly there is none, and joining people to nothing costs more
    return approval.comments.prefetch_related("user").order_by("at", "pk")


def mentioned(text: str, people: Iterable[User]) -> list[User]:
    """Those whose name stands behind an @; of two names that fit, the longer one is meant.

    People of one and the same name are all meant. Pure.
    """
    by_name = sorted(people, key=lambda person: len(str(person)), reverse=True)
    found: dict[int, User] = {}
    for part in text.casefold().split("@")[1:]:
        meant = next((str(person) for person in by_name if _begins(part, str(person))), None)
        found.update({person.pk: person for person in by_name if str(person) == meant})
    return list(found.values())


def _begins(part: str, name: str) -> bool:
    name = name.casefold()
    return bool(name) and part.startswith(name) and not part[len(name) :][:1].isalnum()


def _named(approval: Approval, member: Member, text: str) -> tuple[list[User], list[User]]:
    """Whom the text names: those who may read the item, and those who may not."""
    if "@" not in text:
        return [], []
    users = User.objects.filter(memberships__team=member.team, is_active=True)
    told: list[User] = []
    untold: list[User] = []
    for user in mentioned(text, users):
        reader = access.member_in(user, member.team_id)
        may_read = reader is not None and access.may_see_payload(reader, approval.operation)
        (told if may_read else untold).append(user)
    return told, untold
