"""Every tool of the simulator, by name, in the order in which they are listed."""

from mcpdesk.simulator.scripts import Tool
from mcpdesk.simulator.tools.conformance import CONFORMANCE_TOOLS

TOOLS: dict[str, Tool] = {tool.name: tool for tool in CONFORMANCE_TOOLS}
