"""The one place that writes events."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import User
from mcpdesk.audit.announce import announce
from mcpdesk.audit.kinds import KINDS
from mcpdesk.audit.models import Channel, Event

MAX_FIELD_CHARS = 200


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it: a person, or the desk itself (`user` is None)."""

    user: User | None
    name: str
    channel: Channel

    @classmethod
    def person(cls, member: Member, channel: Channel = Channel.WEB) -> "Actor":
        return cls(member.user, str(member.user), channel)


DESK = Actor(None, "The desk", Channel.WORKER)
CLOCK = Actor(None, "The clock", Channel.CLOCK)


def record(
    kind: str,
    *,
    team_id: int,
    actor: Actor,
    now: datetime,
    operation_id: UUID | None = None,
    approval_id: UUID | None = None,
    server_id: int | None = None,
    **data: Any,
) -> Event:
    """Write one event in the caller's transaction, and announce it once that commits.

    `now` is aware UTC. A field that is None is left out. Raises ValueError for a kind or a field
    that kinds.py does not allow, and RuntimeError outside a transaction: an event without the
    change it speaks of would be a lie.
    """
    data = {name: value for name, value in data.items() if value is not None}
    _check(kind, data)
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError(f"{kind} must be recorded in the transaction of its change")
    event = Event.objects.create(
        at=now,
        team_id=team_id,
        kind=kind,
        operation_id=operation_id,
        approval_id=approval_id,
        server_id=server_id,
        actor=actor.user,
        actor_name=actor.name[:120],
        channel=actor.channel,
        data=data,
    )
    announce(
        team_id,
        operation_id=operation_id,
        approval_id=approval_id,
        server_id=server_id,
    )
    return event


def _check(kind: str, data: dict[str, Any]) -> None:
    if kind not in KINDS:
        raise ValueError(f"unknown kind of event: {kind}")
    extra = data.keys() - KINDS[kind].fields
    if extra:
        raise ValueError(f"{kind} may not carry {', '.join(sorted(extra))}")
    for name, value in data.items():
        if not isinstance(value, str | int | float | bool):
            raise ValueError(f"{kind}.{name} must be a plain value, not {type(value).__name__}")
        if isinstance(value, str) and len(value) > MAX_FIELD_CHARS:
            raise ValueError(f"{kind}.{name} is longer than {MAX_FIELD_CHARS} characters")
