"""Faults of the message: what a response says, changed after the normal answer was made."""

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from mcpdesk.simulator.faults.moment import Moment
from mcpdesk.simulator.protocol import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Json,
    RpcError,
    error_message,
)
from mcpdesk.simulator.timeline import stamp
from mcpdesk.simulator.tools.forms import HOSTILE_TEXTS
from mcpdesk.simulator.tools.parts import flag_field, form

Shape = Callable[[Json, Moment], Json]


def setting(**members: Any) -> Shape:
    """The message with other top-level members."""
    return lambda message, _: {**message, **members}


def dropping(*names: str) -> Shape:
    """The message without some of its members."""
    return lambda message, _: {key: value for key, value in message.items() if key not in names}


def result_setting(**members: Any) -> Shape:
    """The result with other members."""
    return lambda message, _: {**message, "result": {**message.get("result", {}), **members}}


def result_dropping(*names: str) -> Shape:
    """The result without some of its members."""

    def shape(message: Json, moment: Moment) -> Json:
        result = message.get("result", {})
        return {**message, "result": {k: v for k, v in result.items() if k not in names}}

    return shape


def error(code: int, text: str, data: object = None) -> Shape:
    """An error instead of the result."""
    return lambda message, _: error_message(message.get("id"), RpcError(code, text, data))


def _string_id(message: Json, moment: Moment) -> Json:
    return {**message, "id": str(message["id"])}


def _other_id(message: Json, moment: Moment) -> Json:
    return {**message, "id": f"not-{message['id']}"}


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _floats(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_floats(inner) for inner in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _times(write: Callable[[datetime], str]) -> Shape:
    """Both time stamps written in another way."""

    def shape(message: Json, moment: Moment) -> Json:
        result = dict(message.get("result", {}))
        for name in ("createdAt", "lastUpdatedAt"):
            if name in result:
                result[name] = write(datetime.fromisoformat(result[name]).astimezone(UTC))
        return {**message, "result": result}

    return shape


def _elsewhere(moment: datetime) -> str:
    return moment.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat()


def _updated_always(message: Json, moment: Moment) -> Json:
    stamped = stamp(moment.now_ms + moment.number)
    return {**message, "result": {**message.get("result", {}), "lastUpdatedAt": stamped}}


def _ttl_changing(message: Json, moment: Moment) -> Json:
    ttl_ms = 3_600_000 if moment.number % 2 else 7_200_000
    return {**message, "result": {**message.get("result", {}), "ttlMs": ttl_ms}}


def _extended(message: Json, moment: Moment) -> Json:
    """Members that no revision defines, at every level where extensions may put some."""
    extended = copy.deepcopy(message)
    extended["com.example/trace"] = {"span": moment.number}
    result = extended.get("result", {})
    result["com.example/priority"] = {"level": 3}
    result.setdefault("_meta", {})["com.example/cost"] = 0.25
    for block in result.get("content", ()):
        block["com.example/colour"] = "blue"
    return extended


def wide_characters(message: Json, moment: Moment) -> Json:
    """The result with characters of two, three and four bytes in front."""
    wide = {"com.example/wide": "ünïcödé ☃☃☃ 😀😀😀😀"}
    return {**message, "result": {**wide, **message.get("result", {})}}


def _nested(depth: int) -> Json:
    value: Json = {"end": True}
    for _ in range(depth):
        value = {"in": value}
    return value


def _many_requests() -> Json:
    return {f"key-{n}": form(f"Question {n}?", ok=flag_field()) for n in range(60)}


def _contents(*blocks: Any, **members: Any) -> Shape:
    """Other content, in the result itself and in the result inside a completed task."""

    def shape(message: Json, moment: Moment) -> Json:
        result = dict(message.get("result", {}))
        wanted = {"content": list(blocks), **members}
        if isinstance(result.get("result"), dict):
            result["result"] = {**result["result"], **wanted}
        elif "content" in result:
            result.update(wanted)
        return {**message, "result": result}

    return shape


def _no_content(message: Json, moment: Moment) -> Json:
    result = dict(message.get("result", {}))
    result.pop("content", None)
    if isinstance(result.get("result"), dict):
        result["result"] = {k: v for k, v in result["result"].items() if k != "content"}
    return {**message, "result": result}


def _hostile(message: Json, moment: Moment) -> Json:
    text = " ".join(value for name, value in HOSTILE_TEXTS.items() if name != "very-long")
    spoiled = _contents({"type": "text", "text": text})(message, moment)
    if "status" in spoiled.get("result", {}):
        spoiled["result"]["statusMessage"] = text
    return spoiled


UNKNOWN_BLOCKS = (
    {"type": "hologram", "data": "AAAA"},
    {"type": "text", "text": "after the unknown block"},
    {"no": "type"},
)

SHAPES: dict[str, Shape] = {
    "id-string": _string_id,
    "id-other": _other_id,
    "id-null": setting(id=None),
    "id-missing": dropping("id"),
    "jsonrpc-missing": dropping("jsonrpc"),
    "result-missing": dropping("result"),
    "result-array": setting(result=[1, 2]),
    "result-and-error": setting(error={"code": -32000, "message": "Both at once"}),
    "error-without-message": lambda m, _: {"jsonrpc": "2.0", "id": m["id"], "error": {"code": 7}},
    "error-code-text": lambda m, _: {
        "jsonrpc": "2.0",
        "id": m["id"],
        "error": {"code": "E7", "message": "A code that is no number"},
    },
    "numbers-as-floats": lambda message, _: dict(_floats(message)),
    "result-type-missing": result_dropping("resultType"),
    "result-type-task": result_setting(resultType="task"),
    "result-type-unknown": lambda m, _: {**m, "result": {"resultType": "voucher", "voucher": "x"}},
    "result-type-unknown-with-task": result_setting(resultType="voucher"),
    "result-type-number": result_setting(resultType=7),
    "task-id-other": result_setting(taskId="some-other-task"),
    "task-id-missing": result_dropping("taskId"),
    "task-otherwise-invalid": result_setting(status=7, createdAt=False, ttlMs="soon"),
    "status-unknown": result_setting(status="pondering"),
    "status-missing": result_dropping("status"),
    "poll-missing": result_dropping("pollIntervalMs"),
    "poll-zero": result_setting(pollIntervalMs=0),
    "poll-negative": result_setting(pollIntervalMs=-5000),
    "poll-fraction": result_setting(pollIntervalMs=700.5),
    "poll-billion": result_setting(pollIntervalMs=1_000_000_000),
    "poll-text": result_setting(pollIntervalMs="often"),
    "ttl-missing": result_dropping("ttlMs"),
    "ttl-null": result_setting(ttlMs=None),
    "ttl-zero": result_setting(ttlMs=0),
    "ttl-negative": result_setting(ttlMs=-1),
    "ttl-changing": _ttl_changing,
    "updated-always": _updated_always,
    "time-offset-zero": _times(lambda t: t.isoformat()),
    "time-offset": _times(_elsewhere),
    "time-no-fraction": _times(lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ")),
    "time-nine-digits": _times(lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.%f789Z")),
    "time-skewed": _times(lambda t: (t + timedelta(hours=1)).isoformat()),
    "time-missing": result_dropping("createdAt", "lastUpdatedAt"),
    "time-garbage": result_setting(createdAt="yesterday", lastUpdatedAt=12),
    "input-empty": result_setting(status="input_required", inputRequests={}),
    "input-missing": result_setting(status="input_required"),
    "input-too-many": result_setting(status="input_required", inputRequests=_many_requests()),
    "rounds-empty": setting(result={"resultType": "input_required"}),
    "rounds-too-many-keys": setting(
        result={"resultType": "input_required", "inputRequests": _many_requests()}
    ),
    "invalid-params-after-work": error(INVALID_PARAMS, "Not now"),
    "extension-data": _extended,
    "result-huge": _contents({"type": "text", "text": "x" * 9 * 1024 * 1024}),
    "result-deep": _contents({"type": "text", "text": "deep"}, structuredContent=_nested(200)),
    "content-unknown": _contents(*UNKNOWN_BLOCKS),
    "content-missing": _no_content,
    "content-not-a-list": _contents(content="just words"),
    "structured-mismatch": _contents(
        {"type": "text", "text": "42"}, structuredContent={"orders": "none", "extra": 1}
    ),
    "error-with-structured": _contents(
        {"type": "text", "text": "Failed"}, isError=True, structuredContent={"reason": "quota"}
    ),
    "hostile-text": _hostile,
}
"""Ways to spoil a message after the work was done, by fault name."""

REFUSALS: dict[str, Shape] = {
    "not-found": error(INVALID_PARAMS, "Task not found"),
    "expired": error(INVALID_PARAMS, "Task has expired"),
    "invalid-params": error(INVALID_PARAMS, "Not now"),
    "internal-error": error(-32603, "Internal error"),
    "method-not-found": error(METHOD_NOT_FOUND, "Method not found"),
    "header-mismatch": error(HEADER_MISMATCH, "Header mismatch: Mcp-Param-Region is missing"),
    "version-unsupported": error(
        UNSUPPORTED_VERSION,
        "Unsupported protocol version",
        {"supported": ["2099-01-01"], "requested": "2026-07-28"},
    ),
}
"""Errors instead of any work, by fault name."""
