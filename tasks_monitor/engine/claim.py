"""Claim: takes due operations from PostgreSQL under a lease.

Work on a server goes in lanes. A lane has one request in flight at a time, and its own lease token:
a server never has more live tokens than its `max_in_flight`, over all workers. Plain polls share a
lane one after the other, since a claim that takes many costs little more than one that takes few;
whatever may take long or waits for a person has a lane to itself. A worker that dies leaves its
leases to end.
"""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from mcpdesk.encryption import decrypt_json
from tasks_monitor.models import Operation
from tasks_monitor.states import State

Clock = Callable[[], datetime]

#: How many polls share a lane. What is behind a slow answer is given back soon (network.LANE_S).
LANE_DEPTH: Final = 8


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the engine needs of a server's row, as it was when the claim was taken."""

    server_id: int
    url: str
    sealed_credential: bytes | None = field(repr=False)
    allow_private: bool
    call_timeout_s: int
    # something is written down that an answer would clear
    troubled: bool
    last_ok_at: datetime | None
    clock_skew_ms: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One operation that this worker may work on until `leased_until` (UTC)."""

    server: ServerFacts
    operation_id: UUID
    state: str
    attention: bool
    lease_token: UUID
    leased_until: datetime
    due_at: datetime
    poll_interval_ms: int | None
    unchanged_polls: int
    expires_at: datetime | None
    snapshot_digest: bytes | None
    sealed_task_id: bytes | None = field(repr=False)
    # W3C Trace Context; empty: it belongs to no trace
    traceparent: str = ""

    @property
    def has_task(self) -> bool:
        return self.sealed_task_id is not None

    @property
    def task_id(self) -> str:
        """The remote task's id, as the server sent it."""
        assert self.sealed_task_id is not None
        return str(decrypt_json(self.sealed_task_id))


class _Due(NamedTuple):
    """One row of _FIND_DUE."""

    operation_id: UUID
    state: str
    attention: bool
    due_at: datetime
    poll_interval_ms: int | None
    unchanged_polls: int
    expires_at: datetime | None
    snapshot_digest: bytes | None
    sealed_task_id: bytes | None
    traceparent: str
    # of its server: how many lanes are free, and what the engine needs
    lanes: int
    server_id: int
    url: str
    sealed_credential: bytes | None
    allow_private: bool
    call_timeout_s: int
    troubled: bool
    last_ok_at: datetime | None
    clock_skew_ms: int

    @property
    def is_poll(self) -> bool:
        return self.state != State.READY and not self.attention


# First the servers, in a statement of its own: the second one then counts leases on a snapshot
# taken after these rows were locked, so that two workers never hand out the same slot. NO KEY: rows
# that refer to a server may be written meanwhile, and do not hide it.
_LOCK_SERVERS: Final = """
SELECT s.id
FROM tasks_monitor_server s
WHERE NOT s.paused
  AND (s.not_before IS NULL OR s.not_before <= %(now)s)
  AND EXISTS (
      SELECT 1 FROM tasks_monitor_operation o
      WHERE o.server_id = s.id AND o.due_at <= %(now)s
        AND (o.leased_until IS NULL OR o.leased_until <= %(now)s))
FOR NO KEY UPDATE OF s SKIP LOCKED
"""

_FIND_DUE: Final = """
SELECT o.id, o.state, o.attention, o.due_at, o.poll_interval_ms, o.unchanged_polls, o.expires_at,
    o.snapshot_digest, o.task_id, o.traceparent, s.lanes, s.id, s.url, s.credential,
    s.allow_private, s.call_timeout_s, s.troubled, s.last_ok_at, s.clock_skew_ms
FROM (
    SELECT s.id, s.url, s.credential, s.allow_private, s.call_timeout_s,
        (s.unreachable_since IS NOT NULL OR s.failures > 0) AS troubled,
        s.last_ok_at, s.clock_skew_ms,
        greatest(0, s.max_in_flight - (
            SELECT count(DISTINCT held.lease_token) FROM tasks_monitor_operation held
            WHERE held.server_id = s.id AND held.leased_until > %(now)s)) AS lanes
    FROM tasks_monitor_server s
    WHERE s.id = ANY(%(servers)s)
) s
CROSS JOIN LATERAL (
    SELECT o.* FROM tasks_monitor_operation o
    WHERE o.server_id = s.id AND o.due_at <= %(now)s
      AND (o.leased_until IS NULL OR o.leased_until <= %(now)s)
    ORDER BY o.due_at
    LIMIT s.lanes * %(depth)s
    FOR UPDATE SKIP LOCKED
) o
ORDER BY o.due_at
LIMIT %(limit)s
"""

_LEASE: Final = """
UPDATE tasks_monitor_operation o
SET lease_token = v.token, leased_until = v.until
FROM unnest(%(ids)s::uuid[], %(tokens)s::uuid[], %(untils)s::timestamptz[]) AS v(id, token, until)
WHERE o.id = v.id
"""


def claim(now: datetime, limit: int) -> list[Claim]:
    """Take up to `limit` operations that are due at `now` (aware UTC), the longest due first."""
    if limit <= 0:
        return []
    parameters: dict[str, Any] = {"now": now, "limit": limit, "depth": LANE_DEPTH}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK_SERVERS, parameters)
        parameters["servers"] = [row[0] for row in cursor.fetchall()]
        if not parameters["servers"]:
            return []
        cursor.execute(_FIND_DUE, parameters)
        claims = _in_lanes([_Due._make(row) for row in cursor.fetchall()], now)
        if claims:
            cursor.execute(_LEASE, _leases(claims))
    return claims


def _leases(claims: list[Claim]) -> dict[str, str]:
    return {
        "ids": array(str(claim.operation_id) for claim in claims),
        "tokens": array(str(claim.lease_token) for claim in claims),
        "untils": array(claim.leased_until.isoformat() for claim in claims),
    }


def array(values: Iterable[str]) -> str:
    """An array of uuids or timestamps as one value: the driver is slow with lists of objects."""
    return "{" + ",".join(values) + "}"


@dataclass(slots=True)
class _Lanes:
    """The lanes of one server that are free for this claim, each a token and its polls."""

    free: list[UUID]
    shared: list[UUID] = field(default_factory=list)
    polls: int = 0

    def for_one(self) -> UUID | None:
        """A lane for something that shares it with nothing; None: there is none left."""
        return self.free.pop() if self.free else None

    def for_a_poll(self) -> UUID | None:
        """A lane for one more poll, an empty one while there are any; None: all are full."""
        if self.free:
            self.shared.append(self.free.pop())
            token = self.shared[-1]
        elif self.polls < len(self.shared) * LANE_DEPTH:
            token = self.shared[self.polls % len(self.shared)]
        else:
            return None
        self.polls += 1
        return token


def _in_lanes(rows: list[_Due], now: datetime) -> list[Claim]:
    """The claims on these rows; a row for which its server has no lane left stays unclaimed."""
    lanes: dict[int, _Lanes] = {}
    claims = []
    # what has a lane to itself first: a poll can join others, it cannot
    for row in sorted(rows, key=lambda row: row.is_poll):
        server = lanes.setdefault(row.server_id, _Lanes([uuid.uuid4() for _ in range(row.lanes)]))
        token = server.for_a_poll() if row.is_poll else server.for_one()
        if token is not None:
            claims.append(_as_claim(row, token, now))
    return claims


def _as_claim(row: _Due, token: UUID, now: datetime) -> Claim:
    takes_s = row.call_timeout_s if row.state == State.READY else settings.ENGINE["POLL_TIMEOUT_S"]
    return Claim(
        server=ServerFacts(*row[11:]),
        operation_id=row.operation_id,
        state=row.state,
        attention=row.attention,
        lease_token=token,
        leased_until=now + timedelta(seconds=takes_s + settings.ENGINE["LEASE_MARGIN_S"]),
        due_at=row.due_at,
        poll_interval_ms=row.poll_interval_ms,
        unchanged_polls=row.unchanged_polls,
        expires_at=row.expires_at,
        snapshot_digest=row.snapshot_digest,
        sealed_task_id=row.sealed_task_id,
        traceparent=row.traceparent,
    )


def release(claim: Claim, due_at: datetime | None) -> None:
    """Give a claim back unused, due again at `due_at`; does nothing when the lease has ended."""
    Operation.objects.filter(pk=claim.operation_id, lease_token=claim.lease_token).update(
        lease_token=None, leased_until=None, due_at=due_at
    )


def release_unused(claims: list[Claim]) -> None:
    """Give claims back whose request was never made: they stay due, for whoever has a lane."""
    with connection.cursor() as cursor:
        cursor.execute(_GIVE_BACK, _leases(claims))


_GIVE_BACK: Final = """
UPDATE tasks_monitor_operation o
SET lease_token = NULL, leased_until = NULL
FROM unnest(%(ids)s::uuid[], %(tokens)s::uuid[]) AS v(id, token)
WHERE o.id = v.id AND o.lease_token = v.token
"""
