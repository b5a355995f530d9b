"""tools/call: rounds of questions first, then a task or the result."""

import asyncio
from dataclasses import replace

from mcpdesk.simulator.answers import askable, check, read_responses, require
from mcpdesk.simulator.headers import check_parameters
from mcpdesk.simulator.protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    TASKS_EXTENSION,
    Json,
    RpcError,
    missing_capability,
    text_result,
)
from mcpdesk.simulator.request import Request
from mcpdesk.simulator.schemas import problems
from mcpdesk.simulator.scripts import Ask, Script, State, Story, Tool, Work
from mcpdesk.simulator.sealing import Rounds, digest
from mcpdesk.simulator.timeline import TaskRecord, as_wire, refusal, refused_result
from mcpdesk.simulator.world import World


def find_tool(world: World, request: Request) -> tuple[Tool, Json]:
    """The tool and the arguments of a call. Raises -32602, -32020 or -32021."""
    tool = world.tools.get(str(request.params.get("name")))
    arguments = request.params.get("arguments", {})
    if tool is None:
        raise RpcError(INVALID_PARAMS, f"Unknown tool: {request.params.get('name')}")
    if not isinstance(arguments, dict):
        raise RpcError(INVALID_PARAMS, "arguments must be an object")
    check_parameters(request.headers, tool.schema, arguments)
    if tool.needs and any(name not in request.capabilities for name in tool.needs):
        raise missing_capability(tool.needs)
    return tool, arguments


async def call(world: World, request: Request) -> Json:
    """The result of a tools/call request: complete, input_required or task."""
    tool, arguments = find_tool(world, request)
    if found := problems(tool.schema, arguments):
        return text_result(f"Invalid arguments: {'; '.join(found)}", is_error=True)
    script = tool.script(arguments)
    _require_task_support(script, request)
    with world.store.change():
        rounds, asked = play_rounds(world, request, script, tool.name, arguments)
        if asked is not None:
            return asked
        if word := refusal(rounds.answers or {}):
            return refused_result(word)
        if _is_duplicate(world, script, arguments):
            return text_result("This nonce was used before: duplicate refused.", is_error=True)
        if script.task is not None and request.has_tasks:
            return _start_task(world, tool, arguments, rounds)
    return await _finish(world, tool, script, arguments, rounds)


def _require_task_support(script: Script, request: Request) -> None:
    for step in script.task or ():
        if isinstance(step, Ask):
            require(request.capabilities, step)
    if script.task is not None and not script.task_optional and not request.has_tasks:
        raise missing_capability({"extensions": {TASKS_EXTENSION: {}}})


def _is_duplicate(world: World, script: Script, arguments: Json) -> bool:
    nonce = arguments.get("nonce")
    if not nonce:
        return False
    started = world.store.add("started", str(nonce))
    return script.once and started > 1


def _start_task(world: World, tool: Tool, arguments: Json, rounds: Rounds) -> Json:
    record = TaskRecord(
        world.new_task_id(),
        tool.name,
        arguments,
        world.clock(),
        gathered=rounds.answers or {},
        instances=list(rounds.instances),
    )
    world.store.save(record)
    task = as_wire(record, world.script_of(record), world.look(record))
    return {"resultType": "task", **task}


async def _finish(
    world: World, tool: Tool, script: Script, arguments: Json, rounds: Rounds
) -> Json:
    pause_ms = sum(step.ms for step in script.task or () if isinstance(step, Work))
    if pause_ms + script.delay_ms:
        await asyncio.sleep((pause_ms + script.delay_ms) / 1000)
    number = 0
    if script.effect:
        number = world.count_effect(tool.name, str(arguments.get("nonce", "")))
    return script.finish(Story(arguments, rounds.answers or {}, rounds.instances, number))


def play_rounds(
    world: World, request: Request, script: Script, name: str, arguments: Json
) -> tuple[Rounds, Json | None]:
    """(what the rounds came to, the input_required result if they go on).

    Also used for prompts: the pattern is the same for every method that may ask.
    """
    belongs = digest(request.method, name, arguments)
    rounds, fresh = _resume(world, request, script, belongs)
    rounds = replace(rounds, instances=(*rounds.instances, world.instance), request_id=request.id)
    responses = read_responses(request.params)
    while rounds.number < len(script.rounds):
        step = script.rounds[rounds.number]
        if isinstance(step, Ask):
            rounds, missing = _take(world, request, step, rounds, responses)
            if missing:
                return rounds, _asked(world, script, rounds, belongs, missing)
            responses = {}
        elif fresh:
            return rounds, _asked(world, script, rounds, belongs, {})
        rounds, fresh = replace(rounds, number=rounds.number + 1), True
    return rounds, None


def _resume(world: World, request: Request, script: Script, belongs: str) -> tuple[Rounds, bool]:
    """(the rounds so far, whether this is the first request of the call)."""
    params = request.params
    first = "requestState" not in params
    if script.state is State.SEALED and not first:
        rounds = world.sealer.open(params["requestState"], belongs, world.clock())
        if rounds.request_id == request.id:
            raise RpcError(INVALID_REQUEST, "A retry must have a new id")
        return rounds, False
    if script.state is State.SEALED and params.get("inputResponses"):
        raise RpcError(INVALID_PARAMS, "inputResponses without the requestState of that round")
    if script.state is State.NONE and not first:
        raise RpcError(INVALID_PARAMS, "requestState was sent, but none was given")
    if script.state is State.EMPTY and params.get("requestState", "") != "":
        raise RpcError(INVALID_PARAMS, "requestState is not the empty string that was given")
    if script.state is State.EMPTY and first and params.get("inputResponses"):
        raise RpcError(INVALID_PARAMS, "requestState was given (an empty string), not sent back")
    return Rounds(), first


def _take(
    world: World, request: Request, step: Ask, rounds: Rounds, responses: Json
) -> tuple[Rounds, dict[str, Json]]:
    """(the rounds with the answers taken in, the questions still open)."""
    require(request.capabilities, step)
    questions = askable(request.capabilities, step)
    given = {key: responses[key] for key in questions if key in responses}
    for key, response in given.items():
        if not step.lawless:
            check(key, questions[key], response)
        world.store.add("answer", f"{request.params.get('name')}:{key}")
    answers = (rounds.answers or {}) | given
    missing = {key: ask for key, ask in questions.items() if key not in answers}
    return replace(rounds, answers=answers), missing


def _asked(
    world: World, script: Script, rounds: Rounds, belongs: str, missing: dict[str, Json]
) -> Json:
    result: Json = {"resultType": "input_required"}
    if missing:
        result["inputRequests"] = missing
    if script.state is State.SEALED:
        expires = world.clock() + script.state_ttl_ms
        result["requestState"] = world.sealer.seal(rounds, belongs, expires)
    elif script.state is State.EMPTY:
        result["requestState"] = ""
    return result
