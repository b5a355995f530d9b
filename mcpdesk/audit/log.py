"""The one place that writes events."""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import ApiToken, User
from mcpdesk.audit.announce import announce
from mcpdesk.audit.canonical import MAX_NUMBER
from mcpdesk.audit.kinds import KINDS
from mcpdesk.audit.models import Channel, Event
from mcpdesk.logs import EVENTS, about

logger = logging.getLogger(EVENTS)

#: Of these kinds so much more stands in the line of a process's log: words of ours, a fixed set.
_SAID = {"operation.moved": ("before", "after")}
MAX_FIELD_CHARS = 200
MAX_NAME_CHARS = 120


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it: a person, a service, or the desk itself (`user` is None for both).

    `token`: the key to the API that it came with.
    """

    user: User | None
    name: str
    channel: Channel
    token: ApiToken | None = None

    @classmethod
    def person(cls, member: Member, channel: Channel = Channel.WEB) -> "Actor":
        return cls(member.user, str(member.user), channel)

    @classmethod
    def by_token(cls, token: ApiToken) -> "Actor":
        """Through the API: the token's person, or the service it was made for."""
        return cls(token.user, str(token.user or token.name), Channel.API, token)


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
    """Write one event in the caller's transaction; announce and log it once that commits.

    `now` is aware UTC. A field that is None is left out; a field that names a person is given as
    the User. Raises ValueError for a kind or a field that kinds.py does not allow, and RuntimeError
    outside a transaction: an event without the change it speaks of would be a lie.
    """
    data = _allowed(kind, {name: value for name, value in data.items() if value is not None})
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
        actor_name=actor.name[:MAX_NAME_CHARS],
        channel=actor.channel,
        data=data,
    )
    announce(
        team_id,
        operation_id=operation_id,
        approval_id=approval_id,
        server_id=server_id,
    )
    transaction.on_commit(lambda: _note(event), robust=True)
    return event


def _note(event: Event) -> None:
    """Say in the log of this process what happened: ids and states, and no name of anybody."""
    ids = {
        "team": event.team_id,
        "operation": event.operation_id,
        "approval": event.approval_id,
        "server": event.server_id,
        "number": event.pk,
    }
    said = {name: event.data.get(name) for name in _SAID.get(event.kind, ())}
    with about(**{name: value for name, value in (ids | said).items() if value is not None}):
        logger.info(event.kind)


def _allowed(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """The data as it is stored: beside the name of a person stands whose name it is."""
    if kind not in KINDS:
        raise ValueError(f"unknown kind of event: {kind}")
    stored: dict[str, Any] = {}
    for name, value in data.items():
        if name in KINDS[kind].people and isinstance(value, User):
            stored |= {name: str(value)[:MAX_NAME_CHARS], f"{name}_id": value.pk}
        elif name in KINDS[kind].fields:
            stored[name] = _plain(f"{kind}.{name}", value)
        else:
            raise ValueError(f"{kind} may not carry {name} as {type(value).__name__}")
    return stored


def _plain(name: str, value: Any) -> Any:
    """A value whose bytes are the same wherever they are hashed: text, yes or no, whole number."""
    if isinstance(value, str) and len(value) > MAX_FIELD_CHARS:
        raise ValueError(f"{name} is longer than {MAX_FIELD_CHARS} characters")
    if isinstance(value, int) and abs(value) > MAX_NUMBER:
        raise ValueError(f"{name} is too large a number")
    if not isinstance(value, str | int):
        raise ValueError(f"{name} must be a plain value, not {type(value).__name__}")
    return value
