"""A channel layer on PostgreSQL's LISTEN and NOTIFY, for the embedded default without Redis.

What goes through it are hints ("this id changed") that are worth nothing later: so nothing is
stored, nobody's leftovers are cleaned up, and a hint costs one statement. Groups live in the
process that listens. When the listening connection breaks, it is made again, and every group member
gets `layer.restored`: hints may have been missed.
Source: Channels, "Channel Layer Specification"; PostgreSQL 18, NOTIFY (8000 bytes a payload).
"""

import asyncio
import json
import logging
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from channels.layers import BaseChannelLayer
from psycopg.conninfo import make_conninfo

logger = logging.getLogger(__name__)

#: The name hints travel under in PostgreSQL.
TOPIC: Final = "mcpdesk_live"
MAX_PAYLOAD_BYTES: Final = 7900
RECONNECT_S: Final = 1.0


@dataclass(slots=True)
class _Loop:
    """What one event loop holds: its sending connection, its listener, its members."""

    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    connection: "psycopg.AsyncConnection[Any] | None" = None
    listener: "asyncio.Task[None] | None" = None
    listening: asyncio.Event = field(default_factory=asyncio.Event)
    queues: dict[str, "asyncio.Queue[dict[str, Any]]"] = field(default_factory=dict)
    groups: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class NotifyChannelLayer(BaseChannelLayer):  # type: ignore[misc]
    """Channels and groups over NOTIFY. `database`: Django's dictionary of the database."""

    extensions = ["groups"]

    def __init__(self, database: dict[str, Any], capacity: int = 100, **kwargs: Any) -> None:
        super().__init__(capacity=capacity, **kwargs)
        options = {k: v for k, v in (database.get("OPTIONS") or {}).items() if k != "pool"}
        names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password"}
        names |= {"HOST": "host", "PORT": "port"}
        given = {names[key]: value for key, value in database.items() if key in names and value}
        self.conninfo = make_conninfo("", **{**given, **options})
        self.loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Loop] = WeakKeyDictionary()

    @property
    def here(self) -> _Loop:
        return self.loops.setdefault(asyncio.get_running_loop(), _Loop())

    # --- the specification's methods ------------------------------------------------------------

    async def new_channel(self, prefix: str = "specific") -> str:
        return f"{prefix}.{uuid.uuid4().hex}"

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        await self._notify({"channel": channel, "message": message})

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await self._notify({"group": group, "message": message})

    async def receive(self, channel: str) -> dict[str, Any]:
        here = self.here
        queue = here.queues.setdefault(channel, asyncio.Queue(self.capacity))
        await self._listen(here)
        try:
            return await queue.get()
        except asyncio.CancelledError:
            here.queues.pop(channel, None)  # its consumer is gone
            raise

    async def group_add(self, group: str, channel: str) -> None:
        """Once this returns, what is sent to the group reaches the channel."""
        here = self.here
        here.queues.setdefault(channel, asyncio.Queue(self.capacity))
        here.groups[group].add(channel)
        await self._listen(here)

    async def group_discard(self, group: str, channel: str) -> None:
        members = self.here.groups.get(group, set())
        members.discard(channel)
        if not members:
            self.here.groups.pop(group, None)

    async def close(self) -> None:
        """Give back what this loop holds."""
        here = self.here
        if here.listener is not None:
            here.listener.cancel()
            await asyncio.gather(here.listener, return_exceptions=True)
        if here.connection is not None:
            await here.connection.close()
        del self.loops[asyncio.get_running_loop()]

    # --- sending ------------------------------------------------------------------------------

    async def _notify(self, envelope: dict[str, Any]) -> None:
        payload = json.dumps(envelope, separators=(",", ":"))
        if len(payload.encode()) > MAX_PAYLOAD_BYTES:
            raise ValueError("a hint must fit into one notification: send ids, not contents")
        here = self.here
        async with here.sending:
            try:
                await self._send(here, payload)
            except psycopg.OperationalError:
                here.connection = None  # PostgreSQL was restarted since the last hint
                await self._send(here, payload)

    async def _send(self, here: _Loop, payload: str) -> None:
        if here.connection is None:
            here.connection = await self._connect()
        await here.connection.execute("SELECT pg_notify(%s, %s)", (TOPIC, payload))

    async def _connect(self) -> "psycopg.AsyncConnection[Any]":
        return await psycopg.AsyncConnection.connect(
            self.conninfo, autocommit=True, application_name="mcpdesk live"
        )

    # --- listening ----------------------------------------------------------------------------

    async def _listen(self, here: _Loop) -> None:
        if here.listener is None:
            here.listener = asyncio.create_task(self._keep_listening(here))
        await here.listening.wait()

    async def _keep_listening(self, here: _Loop) -> None:
        while True:
            try:
                async with await self._connect() as connection:
                    await connection.execute(f"LISTEN {TOPIC}")
                    self._say_restored(here)
                    async for notification in connection.notifies():
                        self._deliver(here, json.loads(notification.payload))
            except psycopg.Error as error:
                logger.warning("live hints are interrupted: %s", error)
            except Exception:
                # anybody on the database can notify: what is no hint must not leave pages deaf
                logger.exception("live hints are interrupted")
            await asyncio.sleep(RECONNECT_S)

    def _say_restored(self, here: _Loop) -> None:
        if here.listening.is_set():
            for channel in here.queues:
                self._put(here, channel, {"type": "layer.restored"})
        here.listening.set()

    def _deliver(self, here: _Loop, envelope: dict[str, Any]) -> None:
        if "group" in envelope:
            channels = here.groups.get(envelope["group"], set())
        else:
            channels = {envelope["channel"]}
        for channel in channels:
            self._put(here, channel, dict(envelope["message"]))

    def _put(self, here: _Loop, channel: str, message: dict[str, Any]) -> None:
        queue = here.queues.get(channel)
        if queue is None:
            return
        try:
            queue.put_nowait(message)
        except asyncio.QueueFull:
            logger.warning("a page is too slow: a live hint for it was dropped")
