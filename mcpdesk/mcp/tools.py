"""Tools as a server lists them, and what their results deviate in (server/tools)."""

from dataclasses import dataclass
from typing import Any

import mcp_types
from pydantic import TypeAdapter, ValidationError

from mcpdesk.mcp.headers import HeaderPlan, InvalidToolHeader, header_plan
from mcpdesk.mcp.jsontext import canonical, plain, storable
from mcpdesk.mcp.limits import MAX_TOOL_CHARS, MAX_TOOL_NAME_CHARS, MAX_TOOLS
from mcpdesk.mcp.notes import Note

_content_block: TypeAdapter[mcp_types.ContentBlock] = TypeAdapter(mcp_types.ContentBlock)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `raw` is the definition as it came; annotations are the server's claims."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    header_plan: HeaderPlan
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RejectedTool:
    """A tool left out of the list, and why, in a sentence."""

    name: str
    reason: str


def read_tools(listed: list[Any]) -> tuple[tuple[Tool, ...], tuple[RejectedTool, ...]]:
    """The good tools of one page and the bad ones, each in the server's order.

    Of a page with more than MAX_TOOLS one more than that is read, so that it shows.
    """
    verdicts = [_read_tool(definition) for definition in listed[: MAX_TOOLS + 1]]
    tools = tuple(each for each in verdicts if isinstance(each, Tool))
    return tools, tuple(each for each in verdicts if isinstance(each, RejectedTool))


def read_tool_result(result: dict[str, Any]) -> tuple[bool, tuple[Note, ...]]:
    """Whether the tool reported an error, and what is odd about a result. Nothing is refused."""
    notes = []
    is_error = result.get("isError", False)
    if not isinstance(is_error, bool):
        is_error = False
        notes.append(Note.IS_ERROR_UNREADABLE)
    content = result.get("content")
    if not isinstance(content, list):
        notes.append(Note.CONTENT_MISSING)
    elif not all(_is_known(block) for block in content):
        notes.append(Note.CONTENT_UNKNOWN)
    if is_error and "structuredContent" in result:
        notes.append(Note.ERROR_WITH_STRUCTURED)
    return is_error, tuple(notes)


def _read_tool(definition: Any) -> Tool | RejectedTool:
    name = definition.get("name") if isinstance(definition, dict) else None
    if not isinstance(name, str) or not name:
        return RejectedTool("", "A tool without a name.")
    if len(name) > MAX_TOOL_NAME_CHARS or not storable(name):
        return RejectedTool(plain(name[:MAX_TOOL_NAME_CHARS]), "The name cannot be kept.")
    try:
        return _checked(name, definition)
    except InvalidToolHeader as invalid:
        return RejectedTool(name, invalid.reason)
    except ValidationError as invalid:
        return RejectedTool(name, _first_problem(invalid))


def _checked(name: str, definition: dict[str, Any]) -> Tool | RejectedTool:
    """Raises ValidationError and InvalidToolHeader."""
    if len(canonical(definition)) > MAX_TOOL_CHARS:
        return RejectedTool(name, "The definition is bigger than 256 KiB.")
    schema = definition.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return RejectedTool(name, "The input schema is not that of an object.")
    # not the icons: nothing shows them, and each bad one of a million is an error of its own
    model = mcp_types.Tool.model_validate(definition | {"icons": None})
    annotations = definition.get("annotations") or {}
    title = model.title or (model.annotations and model.annotations.title) or ""
    return Tool(
        name=name,
        title=plain(title),
        description=plain(model.description or ""),
        input_schema=schema,
        output_schema=definition.get("outputSchema"),
        annotations=annotations,
        header_plan=header_plan(schema),
        raw=definition,
    )


def _first_problem(invalid: ValidationError) -> str:
    """Names the member, never its value."""
    where = invalid.errors(include_input=False, include_url=False)[0]["loc"]
    member = plain(".".join(str(part) for part in where)[:MAX_TOOL_NAME_CHARS])
    return f"The definition is malformed at {member}."


def _is_known(block: Any) -> bool:
    try:
        _content_block.validate_python(block)
    except ValidationError:
        return False
    return True
