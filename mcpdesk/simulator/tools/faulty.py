"""The two tools that misbehave as their arguments say (see `faults`)."""

from mcpdesk.simulator.faults.catalog import FAULTS
from mcpdesk.simulator.protocol import Json
from mcpdesk.simulator.scripts import Ask, Script
from mcpdesk.simulator.tools.parts import choice_field, flag_field, integer_field, text_field
from mcpdesk.simulator.tools.scripted import call_tool, confirm, task_tool, work

RULE: dict[str, Json] = {
    "fault": choice_field(*FAULTS, description="What goes wrong"),
    "on": text_field(description="The method whose answers are spoiled; * for all"),
    "after": integer_field(description="How many exchanges go well first (0)", minimum=0),
    "times": integer_field(description="How many are spoiled then (0: all)", minimum=0),
    "seconds": integer_field(description="Delay that Retry-After names (2)", minimum=0),
    "asks": flag_field(description="Ask a question on the way"),
}


def _call(arguments: Json) -> Script:
    question = (Ask({"go": confirm()}),)
    return Script(rounds=question if arguments.get("asks") else ())


def _task(arguments: Json) -> Script:
    question = (Ask({"go": confirm()}),)
    steps = (work(arguments, 2000), *(question if arguments.get("asks") else ()))
    return Script(task=steps)


FAULTY_TOOLS = (
    call_tool("misbehave", "A call whose answers are spoiled by a fault", _call, **RULE),
    task_tool("misbehave_task", "A task whose answers are spoiled by a fault", _task, **RULE),
)
