"""Prompts and resources: the few that the official conformance suite asks a server for."""

from mcpdesk.simulator.calls import play_rounds
from mcpdesk.simulator.protocol import INVALID_PARAMS, Json, RpcError
from mcpdesk.simulator.request import Request
from mcpdesk.simulator.scripts import Ask, Script, State
from mcpdesk.simulator.tools.parts import form, text_field
from mcpdesk.simulator.world import World

CACHE = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"}

ASKING_PROMPT = Script(
    rounds=(
        Ask({"user_context": form("What context should the prompt use?", context=text_field())}),
    ),
    state=State.NONE,
)

PROMPTS: dict[str, Json] = {
    "test_simple_prompt": {
        "description": "A prompt without arguments",
        "text": "This is a simple prompt for testing.",
    },
    "test_prompt_with_arguments": {
        "description": "A prompt with two arguments",
        "text": "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'",
        "arguments": [
            {"name": "arg1", "description": "First argument", "required": True},
            {"name": "arg2", "description": "Second argument", "required": True},
        ],
    },
    "test_input_required_result_prompt": {
        "description": "A prompt that asks for context first",
        "text": "Use this context: {context}",
    },
}

RESOURCES: dict[str, Json] = {
    "test://static-text": {
        "name": "static-text",
        "description": "A text that never changes",
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
}


def list_prompts(world: World, request: Request) -> Json:
    """All prompts, on one page."""
    prompts = [
        {"name": name, "description": p["description"], "arguments": p.get("arguments", [])}
        for name, p in PROMPTS.items()
    ]
    return CACHE | {"prompts": prompts}


def get_prompt(world: World, request: Request) -> Json:
    """A prompt with its arguments filled in; one of them asks for input first."""
    name, arguments = str(request.params.get("name")), request.params.get("arguments", {})
    if name not in PROMPTS:
        raise RpcError(INVALID_PARAMS, f"Unknown prompt: {name}")
    filled = {a["name"]: arguments.get(a["name"], "") for a in PROMPTS[name].get("arguments", ())}
    if name == "test_input_required_result_prompt":
        rounds, asked = play_rounds(world, request, ASKING_PROMPT, name, arguments)
        if asked is not None:
            return asked
        filled = {"context": "none"} | (rounds.answers or {})["user_context"].get("content", {})
    text = PROMPTS[name]["text"].format_map(filled)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"resultType": "complete", "messages": [message]}


def list_resources(world: World, request: Request) -> Json:
    """All resources, on one page."""
    resources = [
        {"uri": uri, **{key: value for key, value in r.items() if key != "text"}}
        for uri, r in RESOURCES.items()
    ]
    return CACHE | {"resources": resources}


def list_templates(world: World, request: Request) -> Json:
    """No templates."""
    return CACHE | {"resourceTemplates": []}


def read_resource(world: World, request: Request) -> Json:
    """The text of a resource. Raises -32602 with the URI when it is unknown."""
    uri = str(request.params.get("uri"))
    if uri not in RESOURCES:
        raise RpcError(INVALID_PARAMS, "Resource not found", {"uri": uri})
    found = RESOURCES[uri]
    content = {"uri": uri, "mimeType": found["mimeType"], "text": found["text"]}
    return CACHE | {"contents": [content]}
