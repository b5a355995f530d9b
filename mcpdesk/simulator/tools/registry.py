"""Every tool of the simulator, by name, in the order in which they are listed."""

from collections.abc import Iterable

from mcpdesk.simulator.scripts import Tool
from mcpdesk.simulator.tools.conformance import CONFORMANCE_TOOLS
from mcpdesk.simulator.tools.demo import DEMO_TOOLS
from mcpdesk.simulator.tools.faulty import FAULTY_TOOLS
from mcpdesk.simulator.tools.scripted import SCRIPTED_TOOLS


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools}


TOOLS = _by_name((*DEMO_TOOLS, *SCRIPTED_TOOLS, *FAULTY_TOOLS, *CONFORMANCE_TOOLS))

TOOLSETS: dict[str, dict[str, Tool]] = {"all": TOOLS, "demo": _by_name(DEMO_TOOLS)}
"""What a server can be started with."""
