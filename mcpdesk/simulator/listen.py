"""subscriptions/listen: a stream of list changes and of whole tasks, for as long as it is read."""

import asyncio
from collections.abc import AsyncIterator

from mcpdesk.simulator.hub import LIST_CHANGES
from mcpdesk.simulator.protocol import META_SUBSCRIPTION, Json
from mcpdesk.simulator.request import Request
from mcpdesk.simulator.timeline import as_detailed_wire
from mcpdesk.simulator.world import World

LOOK_EVERY_S = 0.1


def _notification(request: Request, method: str, params: Json) -> Json:
    meta = {META_SUBSCRIPTION: request.id}
    return {"jsonrpc": "2.0", "method": method, "params": {"_meta": meta, **params}}


async def stream(world: World, request: Request, wanted: Json) -> AsyncIterator[Json]:
    """First what will be sent, then each change. Ends only when nobody reads any more."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    kinds = {kind for kind in LIST_CHANGES if wanted.get(kind) is True}
    task_ids = [i for i in wanted.get("taskIds", ()) if world.store.load(i) is not None]
    agreed: Json = dict.fromkeys(kinds, True)
    if task_ids:
        agreed["taskIds"] = task_ids
    world.hub.queues.append(queue)
    try:
        yield _notification(
            request, "notifications/subscriptions/acknowledged", {"notifications": agreed}
        )
        sent: dict[str, Json] = {}
        while True:
            for task in _changed_tasks(world, task_ids, sent):
                yield _notification(request, "notifications/tasks", task)
            kind = await _next(queue)
            if kind in kinds:
                yield _notification(request, LIST_CHANGES[kind], {})
    finally:
        world.hub.queues.remove(queue)


async def _next(queue: asyncio.Queue[str]) -> str:
    try:
        return await asyncio.wait_for(queue.get(), LOOK_EVERY_S)
    except TimeoutError:
        return ""


def _changed_tasks(world: World, task_ids: list[str], sent: dict[str, Json]) -> list[Json]:
    changed = []
    for task_id in task_ids:
        record = world.store.load(task_id)
        if record is None:
            continue
        task = as_detailed_wire(record, world.script_of(record), world.look(record))
        if sent.get(task_id) != task:
            sent[task_id] = task
            changed.append(task)
    return changed
