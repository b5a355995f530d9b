"""The one socket of a page: says which ids changed, to people who may know of them."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.sessions import Fallen, standing
from mcpdesk.audit.announce import team_group

#: The session is read again before a message is passed on, but not more often than this.
CHECK_APART = timedelta(seconds=1)
#: ... and without any message this often (s), so that an idle socket closes too.
CHECK_EVERY_S = 30.0

#: Close codes; static/js/live.js knows them.
CLOSE_CODES = {Fallen.SIGNED_OUT: 4401, Fallen.NO_TEAM: 4403}
TEAM_CHANGED = 4409

_IDS = ("operation", "approval", "server")


class StatusConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """Joins the group of the session's team and forwards ids, nothing else.

    What changed is fetched over HTTP, where the view decides what the person may see. Between
    messages it holds no database connection: each check borrows one and gives it back.
    """

    member: Member | None = None
    checked_at: datetime
    watch: "asyncio.Task[None] | None" = None

    async def connect(self) -> None:
        await self.accept()  # a close code reaches the browser only after that
        found = await self._read()
        if isinstance(found, Fallen):
            await self.close(CLOSE_CODES[found])
            return
        self.member = found
        await self.channel_layer.group_add(team_group(found.team_id), self.channel_name)
        self.watch = asyncio.create_task(self._watch())
        await self.send_json({"type": "ready"})

    async def disconnect(self, code: int) -> None:
        if self.watch is not None:
            self.watch.cancel()
        if self.member is not None:
            group = team_group(self.member.team_id)
            await self.channel_layer.group_discard(group, self.channel_name)

    async def receive(self, *_: Any, **__: Any) -> None:
        """Browsers have nothing to say here, so that nothing they say is read."""

    async def live_change(self, message: dict[str, Any]) -> None:
        """A change announced by mcpdesk.audit.announce.

        One that names nothing is about people: it may be about this one, so it is always checked.
        """
        about_people = not any(message.get(key) for key in _IDS)
        due = datetime.now(UTC) - self.checked_at >= CHECK_APART
        if (about_people or due) and not await self._stands():
            return
        await self.send_json({key: message.get(key) for key in _IDS})

    async def layer_restored(self, message: dict[str, Any]) -> None:
        """The channel layer was away: changes may have been missed, so the page asks again."""
        if await self._stands():
            await self.send_json({"type": "ready"})

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            if await self._stands():
                await self.send_json({"type": "here"})  # a page that hears nothing gives up

    async def _stands(self) -> bool:
        """Whether the person still is a member of the same team; closes the socket otherwise."""
        fresh = await self._read()
        if isinstance(fresh, Fallen):
            await self.close(CLOSE_CODES[fresh])
            return False
        if self.member is None or fresh.team_id != self.member.team_id:
            await self.close(TEAM_CHANGED)
            return False
        return True

    async def _read(self) -> Member | Fallen:
        self.checked_at = datetime.now(UTC)
        key = self.scope["session"].session_key
        found: Member | Fallen = await database_sync_to_async(standing)(key, self.checked_at)
        return found
