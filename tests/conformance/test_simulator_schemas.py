"""The simulator's task messages against the schemas of the official Tasks extension."""

from pathlib import Path

import pytest

from mcpdesk.simulator.tools.demo import DEMO_TOOLS
from mcpdesk.simulator.tools.forms import LAWFUL
from mcpdesk.simulator.tools.scripted import TASK_TOOLS
from tests.conformance.node import validate
from tests.simulator.peer import Clock, Peer

pytestmark = pytest.mark.conformance

DEMO_ARGUMENTS = {"project": "shop", "environment": "staging", "order": "A-1", "region": "eu-north"}


def _messages(peer: Peer, clock: Clock) -> list[tuple[str, object]]:
    """Every task that the tools can make, when it is made, at once and ten minutes later."""
    messages: list[tuple[str, object]] = []
    for tool in (*DEMO_TOOLS, *TASK_TOOLS):
        arguments = {name: DEMO_ARGUMENTS.get(name, "x") for name in tool.required}
        region = {"mcp-param-region": arguments.get("region")}
        made = peer.call(tool.name, arguments, headers=region).result
        if made["resultType"] != "task":
            continue
        messages.append(("CreateTaskResultV2Schema", made))
        for wait_ms in (0, 600_000):
            clock.pass_ms(wait_ms)
            messages.append(("GetTaskResultV2Schema", peer.get(made["taskId"])))
    return messages


def test_every_task_message_is_valid(node_modules: Path) -> None:
    clock = Clock()
    messages = _messages(Peer(clock), clock)
    wrong = [
        (message, verdict["issues"])
        for message, verdict in zip(messages, validate(messages), strict=True)
        if not verdict["valid"]
    ]
    assert wrong == []
    assert len(messages) > 50


def test_every_lawful_question_is_valid(node_modules: Path) -> None:
    names = list(LAWFUL)
    verdicts = validate([("InputRequestsV2Schema", LAWFUL[name]) for name in names])
    assert [n for n, v in zip(names, verdicts, strict=True) if not v["valid"]] == []
