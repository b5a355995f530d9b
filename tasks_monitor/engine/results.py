"""Keeps final results, with a note where one is not what the tool promised."""

from collections.abc import Iterable
from typing import Any

from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.output import output_note
from tasks_monitor.models import Operation


def keep_result(operation: Operation, result: dict[str, Any], notes: Iterable[Note]) -> None:
    """Write the result as it came. It is kept whatever it looks like; what is odd is noted."""
    payload = operation.payload
    mismatch = output_note(_output_schema(operation), result)
    found = {*map(str, notes), *(payload.notes or [])} | ({str(mismatch)} if mismatch else set())
    payload.result, payload.notes = result, sorted(found) or None
    payload.request_state = None
    payload.save(update_fields=["result", "notes", "request_state"])


def _output_schema(operation: Operation) -> Any:
    tool = operation.server.tools.filter(name=operation.tool_name).first()
    return tool.definition.get("outputSchema") if tool else None
