"""One JSON-RPC message: is it the answer to our request? (basic/index, Responses)"""

from typing import Any

from mcpdesk.mcp.limits import MAX_EXACT
from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.replies import ErrorReply, ReplyProblem, ResultReply


def read_message(
    message: dict[str, Any], expected_id: int, http_status: int
) -> ResultReply | ErrorReply | ReplyProblem:
    """The reply in a message that is no notification, or why there is none in it."""
    result, error = message.get("result"), message.get("error")
    if (result is None) == (error is None):
        return ReplyProblem.NOT_JSONRPC
    notes = () if message.get("jsonrpc") == "2.0" else (Note.ENVELOPE_OLD,)
    if isinstance(result, dict):
        return _read_result(result, message.get("id"), expected_id, notes)
    if isinstance(error, dict):
        return _read_error(error, message.get("id"), expected_id, http_status, notes)
    return ReplyProblem.NOT_JSONRPC


def whole_number(value: Any) -> int | None:
    """An integer, also where it came as 5.0; None for anything else (booleans too)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def _read_result(
    result: dict[str, Any], came: Any, expected_id: int, notes: tuple[Note, ...]
) -> ResultReply | ReplyProblem:
    deviations = _compare_ids(came, expected_id)
    if deviations is None:
        return ReplyProblem.WRONG_ID
    return ResultReply(result, notes + deviations)


def _read_error(
    error: dict[str, Any],
    came: Any,
    expected_id: int,
    http_status: int,
    notes: tuple[Note, ...],
) -> ErrorReply | ReplyProblem:
    """An error may lack the id: a server that could not read the request cannot name it."""
    deviations = () if came is None else _compare_ids(came, expected_id)
    if deviations is None:
        return ReplyProblem.WRONG_ID
    code, message = whole_number(error.get("code")), error.get("message")
    if code is None or abs(code) >= MAX_EXACT or not isinstance(message, str):
        return ReplyProblem.NOT_JSONRPC
    if isinstance(error["code"], float):
        deviations = (*deviations, Note.NUMBER_AS_FRACTION)
    return ErrorReply(code, message, error.get("data"), http_status, notes + deviations)


def _compare_ids(came: Any, expected: int) -> tuple[Note, ...] | None:
    """The deviations of an id that is ours all the same; None for an id that is not ours."""
    if came == str(expected):
        return (Note.ID_AS_STRING,)
    if whole_number(came) != expected:
        return None
    return (Note.NUMBER_AS_FRACTION,) if isinstance(came, float) else ()
