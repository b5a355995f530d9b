"""Checks of what a client answers, and of what it declared that it can answer."""

from collections.abc import Mapping

from mcpdesk.simulator.protocol import INVALID_PARAMS, Json, RpcError, missing_capability
from mcpdesk.simulator.schemas import problems
from mcpdesk.simulator.scripts import Ask

ACTIONS = ("accept", "decline", "cancel")


def read_responses(params: Json) -> Json:
    """`inputResponses` of a request. Raises -32602 unless it is a map of objects."""
    responses = params.get("inputResponses", {})
    if not isinstance(responses, dict) or not all(isinstance(r, dict) for r in responses.values()):
        raise RpcError(INVALID_PARAMS, "inputResponses must map keys to result objects")
    return responses


def check(key: str, request: Json, response: Json) -> None:
    """Raises -32602 when the answer to an elicitation is not one that this question allows."""
    if request.get("method") != "elicitation/create":
        return
    action = response.get("action")
    if action not in ACTIONS:
        raise RpcError(INVALID_PARAMS, f"The answer to {key} has no valid action")
    params = request.get("params") or {}
    form = params.get("mode", "form") == "form"
    if "content" in response and not (action == "accept" and form):
        raise RpcError(INVALID_PARAMS, f"The answer to {key} must not carry content")
    if action == "accept" and form:
        _check_content(key, params.get("requestedSchema"), response.get("content"))


def _check_content(key: str, schema: object, content: object) -> None:
    if not isinstance(content, dict):
        raise RpcError(INVALID_PARAMS, f"The answer to {key} has no content object")
    if not isinstance(schema, dict):
        return
    if found := problems(schema, content):
        raise RpcError(INVALID_PARAMS, f"The answer to {key} does not fit: {'; '.join(found)}")


def needed(request: Json) -> Json:
    """The client capabilities that answering a request takes."""
    method, params = request.get("method"), request.get("params")
    if method == "sampling/createMessage":
        return {"sampling": {}}
    if method == "roots/list":
        return {"roots": {}}
    if isinstance(params, dict) and params.get("mode") == "url":
        return {"elicitation": {"url": {}}}
    return {"elicitation": {}}


def declared(capabilities: Json, need: Json) -> bool:
    """Whether a client declared what is needed. Empty `elicitation` means form mode only."""
    if "elicitation" not in need:
        return all(name in capabilities for name in need)
    elicitation = capabilities.get("elicitation")
    if not isinstance(elicitation, dict):
        return False
    if need["elicitation"]:
        return "url" in elicitation
    return not elicitation or "form" in elicitation


def require(capabilities: Json, ask: Ask) -> None:
    """Raises -32021 when the client did not declare what the questions need."""
    if ask.lawless or ask.only_declared:
        return
    for request in ask.requests.values():
        need = needed(request)
        if not declared(capabilities, need):
            raise missing_capability(need)


def askable(capabilities: Json, ask: Ask) -> Mapping[str, Json]:
    """The questions that are put to a client with these capabilities."""
    if not ask.only_declared:
        return ask.requests
    return {
        key: request
        for key, request in ask.requests.items()
        if declared(capabilities, needed(request))
    }
