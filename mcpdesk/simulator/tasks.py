"""tasks/get, tasks/update and tasks/cancel (ext-tasks: specification/draft/tasks)."""

from mcpdesk.simulator.answers import check, read_responses
from mcpdesk.simulator.protocol import (
    INVALID_PARAMS,
    TASKS_EXTENSION,
    Json,
    RpcError,
    missing_capability,
)
from mcpdesk.simulator.request import Request
from mcpdesk.simulator.scripts import Ask, Script
from mcpdesk.simulator.timeline import TaskRecord, as_detailed_wire
from mcpdesk.simulator.world import World

COMPLETE = {"resultType": "complete"}


def require_extension(request: Request) -> None:
    """Raises -32021 for a client that did not declare the Tasks extension on this request."""
    if not request.has_tasks:
        raise missing_capability({"extensions": {TASKS_EXTENSION: {}}})


def find(world: World, request: Request) -> tuple[TaskRecord, Script]:
    """The task of a request. Raises -32021, or -32602 when it is unknown or expired."""
    require_extension(request)
    if "requestState" in request.params:
        raise RpcError(INVALID_PARAMS, "requestState belongs to the retried call only")
    record = world.store.load(str(request.params.get("taskId")))
    if record is None:
        raise RpcError(INVALID_PARAMS, "Task not found")
    script = world.script_of(record)
    if script.ttl_ms is not None and 0 < script.ttl_ms <= world.clock() - record.created_ms:
        raise RpcError(INVALID_PARAMS, "Task has expired")
    return record, script


def get(world: World, request: Request) -> Json:
    """The whole task as it is now."""
    record, script = find(world, request)
    return COMPLETE | as_detailed_wire(record, script, world.look(record))


def update(world: World, request: Request) -> Json:
    """Take in answers. Keys that are not asked for now are counted and ignored, as they should."""
    with world.store.change():
        record, script = find(world, request)
        if "inputResponses" not in request.params:
            raise RpcError(INVALID_PARAMS, "inputResponses is missing")
        seen = world.look(record)
        for key, response in read_responses(request.params).items():
            world.store.add("answer", f"{record.tool}:{key}")
            if key not in seen.requests:
                world.store.add("ignored", f"{record.tool}:{key}")
                continue
            if _takes(world, record, script, key, response):
                record.answers[key] = (response, world.clock())
        world.store.save(record)
    return dict(COMPLETE)


def _takes(world: World, record: TaskRecord, script: Script, key: str, response: Json) -> bool:
    """Whether an answer counts. Raises -32602 when it is not one that the question allows."""
    for step in script.task or ():
        if isinstance(step, Ask) and key in step.requests:
            if not step.lawless:
                check(key, step.requests[key], response)
            return world.store.add("arrived", f"{record.id}:{key}") > step.drops
    return False


def cancel(world: World, request: Request) -> Json:
    """Note the wish. What comes of it is the script's business; terminal tasks stay as they are."""
    with world.store.change():
        record, _ = find(world, request)
        world.store.add("cancel", record.tool)
        if record.cancelled_ms is None and not world.look(record).terminal:
            record.cancelled_ms = world.clock()
            world.store.save(record)
    return dict(COMPLETE)
