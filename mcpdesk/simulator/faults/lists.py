"""Faults of tools/list: bad tools among good ones, and cursors that lead nowhere."""

from collections.abc import Callable
from typing import Any

from mcpdesk.simulator.faults.moment import Moment
from mcpdesk.simulator.faults.shapes import Shape
from mcpdesk.simulator.protocol import Json
from mcpdesk.simulator.tools.forms import HOSTILE_TEXTS


def _tool(name: Any, properties: Any = None, **members: Any) -> Json:
    schema = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": "A bad tool", "inputSchema": schema, **members}


def _header(value: Any, kind: str = "string") -> Json:
    return {"x": {"type": kind, "x-mcp-header": value}}


BAD_TOOLS: list[Any] = [
    _tool("bad-header-empty", _header("")),
    _tool("bad-header-space", _header("Not A Token")),
    _tool("bad-header-line", _header("X\r\nInjected: 1")),
    _tool("bad-header-number", _header("Amount", "number")),
    _tool("bad-header-object", _header("Thing", "object")),
    _tool(
        "bad-header-twice",
        {
            "a": {"type": "string", "x-mcp-header": "Same"},
            "b": {"type": "string", "x-mcp-header": "SAME"},
        },
    ),
    _tool(
        "bad-header-in-items",
        {"list": {"type": "array", "items": {"type": "string", "x-mcp-header": "Item"}}},
    ),
    _tool("bad-schema-text", inputSchema="object"),
    {"name": "bad-no-schema", "description": "No schema at all"},
    {"description": "No name", "inputSchema": {"type": "object"}},
    _tool(7),
    "not a tool",
    None,
]


def _with_tools(*more: Any) -> Shape:
    def shape(message: Json, moment: Moment) -> Json:
        result = message.get("result", {})
        return {**message, "result": {**result, "tools": [*more, *result.get("tools", ())]}}

    return shape


def _page(tools: Callable[[int], list[Json]], cursor: Callable[[int], object]) -> Shape:
    """Pages made up on the spot: tools and next cursor by the number of the page."""

    def shape(message: Json, moment: Moment) -> Json:
        made = {"tools": tools(moment.number), "nextCursor": cursor(moment.number)}
        return {**message, "result": {**message.get("result", {}), **made}}

    return shape


def _named(number: int) -> list[Json]:
    return [_tool(f"page-{number}-tool")]


HOSTILE_TOOLS = [
    _tool(f"hostile-{name}", title=text[:300], description=text)
    for name, text in HOSTILE_TEXTS.items()
]

LISTS: dict[str, Shape] = {
    "list-bad-tools": _with_tools(*BAD_TOOLS),
    "list-hostile-tools": _with_tools(*HOSTILE_TOOLS),
    "list-same-name-twice": _with_tools(_tool("echo"), _tool("echo")),
    "list-same-cursor": _page(_named, lambda _: "again"),
    "list-endless": _page(_named, lambda number: f"page-{number}"),
    "list-empty-pages": _page(lambda _: [], lambda number: f"page-{number}"),
    "list-cursor-number": _page(_named, lambda number: number),
    "list-not-a-list": lambda message, _: {**message, "result": {"tools": {}}},
}
"""Ways to spoil a page of tools, by fault name."""
