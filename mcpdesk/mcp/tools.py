"""Tools as a server lists them."""

from dataclasses import dataclass
from typing import Any

from mcpdesk.mcp.headers import HeaderPlan


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
