"""Claim: takes due operations from PostgreSQL under a lease.

A lease is also the right to one request in flight: a server never has more live leases than its
`max_in_flight`, over all workers. A worker that dies leaves its leases to end.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from mcpdesk.encryption import decrypt_json
from tasks_monitor.models import Operation
from tasks_monitor.states import State

Clock = Callable[[], datetime]


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

    @property
    def has_task(self) -> bool:
        return self.sealed_task_id is not None

    @property
    def task_id(self) -> str:
        """The remote task's id, as the server sent it."""
        assert self.sealed_task_id is not None
        return str(decrypt_json(self.sealed_task_id))


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

_TAKE_OPERATIONS: Final = """
WITH picked AS (
    SELECT o.id, s.id AS server_id, s.url, s.credential, s.allow_private, s.call_timeout_s,
        (s.unreachable_since IS NOT NULL OR s.failures > 0) AS troubled,
        s.last_ok_at, s.clock_skew_ms
    FROM tasks_monitor_server s
    CROSS JOIN LATERAL (
        SELECT o.id, o.due_at FROM tasks_monitor_operation o
        WHERE o.server_id = s.id AND o.due_at <= %(now)s
          AND (o.leased_until IS NULL OR o.leased_until <= %(now)s)
        ORDER BY o.due_at
        LIMIT greatest(0, s.max_in_flight - (
            SELECT count(*) FROM tasks_monitor_operation held
            WHERE held.server_id = s.id AND held.leased_until > %(now)s))
        FOR UPDATE SKIP LOCKED
    ) o
    WHERE s.id = ANY(%(servers)s)
    ORDER BY o.due_at
    LIMIT %(limit)s
)
UPDATE tasks_monitor_operation o
SET lease_token = %(token)s,
    leased_until = %(now)s + make_interval(secs => %(margin)s + CASE
        WHEN o.state = %(ready)s THEN picked.call_timeout_s ELSE %(poll_timeout)s END)
FROM picked
WHERE o.id = picked.id
RETURNING o.id, o.state, o.attention, o.lease_token, o.leased_until, o.due_at,
    o.poll_interval_ms, o.unchanged_polls, o.expires_at, o.snapshot_digest, o.task_id,
    picked.server_id, picked.url, picked.credential, picked.allow_private, picked.call_timeout_s,
    picked.troubled, picked.last_ok_at, picked.clock_skew_ms
"""


def claim(now: datetime, limit: int) -> list[Claim]:
    """Take up to `limit` operations that are due at `now` (aware UTC), the longest due first."""
    if limit <= 0:
        return []
    parameters = _parameters(now, limit)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK_SERVERS, parameters)
        parameters["servers"] = [row[0] for row in cursor.fetchall()]
        if not parameters["servers"]:
            return []
        cursor.execute(_TAKE_OPERATIONS, parameters)
        return [_as_claim(row) for row in cursor.fetchall()]


def _parameters(now: datetime, limit: int) -> dict[str, Any]:
    return {
        "now": now,
        "limit": limit,
        "token": uuid.uuid4(),
        "margin": settings.ENGINE["LEASE_MARGIN_S"],
        "poll_timeout": settings.ENGINE["POLL_TIMEOUT_S"],
        "ready": State.READY.value,
    }


def _as_claim(row: tuple[Any, ...]) -> Claim:
    return Claim(ServerFacts(*row[11:]), *row[:11])


def release(claim: Claim, due_at: datetime | None) -> None:
    """Give a claim back unused, due again at `due_at`; does nothing when the lease has ended."""
    Operation.objects.filter(pk=claim.operation_id, lease_token=claim.lease_token).update(
        lease_token=None, leased_until=None, due_at=due_at
    )
