"""What the conformance client answers and how it ends, apart from the official suite."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk.mcp.inputs import read_input_requests
from tasks_monitor.conformance import CallReport, answer, main, run
from tasks_monitor.samples import sample
from tests.mcp.wire import form
from tests.simulator.process import SimulatorProcess


@pytest.fixture(scope="module")
def simulator() -> Iterator[SimulatorProcess]:
    with SimulatorProcess() as process:
        yield process


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "boolean", "default": False}, False),
        ({"type": "string", "default": ""}, ""),
        ({"const": 5}, 5),
        ({"type": "string", "enum": ["b", "a"]}, "b"),
        ({"oneOf": [{"const": "x", "title": "X"}]}, "x"),
        ({"type": "string", "format": "email"}, "someone@example.com"),
        ({"type": "string", "minLength": 9}, "examplexx"),
        ({"type": "string", "maxLength": 2}, "ex"),
        ({"type": "integer", "minimum": 0}, 0),
        ({"type": "integer", "maximum": -4}, -4),
        ({"type": ["null", "boolean"]}, True),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 2}, ["a", "a"]),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, {"a": True}),
        ({}, {}),
    ],
)
def test_a_sample_is_the_default_or_made_from_the_schema(schema: Any, value: Any) -> None:
    assert sample(schema) == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(),
        lambda each: (
            st.lists(each, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "items", "properties", "enum", "oneOf"]), each
            )
        ),
    )
)
def test_any_schema_has_a_sample(schema: Any) -> None:
    sample(schema)


def test_questions_are_accepted_and_what_is_not_offered_is_declined() -> None:
    asked = {
        "form": form(),
        "link": {"method": "elicitation/create",
                 "params": {"mode": "url", "message": "x", "url": "https://example.com/"}},
        "roots": {"method": "roots/list"},
    }  # fmt: skip
    answers = {each.key: answer(each) for each in read_input_requests(asked)}
    assert answers == {
        "form": {"action": "accept", "content": {"ok": True}},
        "link": {"action": "accept"},
        "roots": {"action": "decline"},
    }


@pytest.mark.parametrize("name", ["echo", "ask_rounds", "state_only", "task_at_once", "task_asks",
                                  "ask_then_task"])  # fmt: skip
def test_calls_rounds_and_tasks_are_followed_to_their_result(
    simulator: SimulatorProcess, name: str
) -> None:
    arguments = {"text": "x"} if name == "echo" else {"duration_ms": 1, "poll_ms": 1}
    if name in ("ask_rounds", "state_only"):
        arguments = {}
    reports: list[CallReport] = []
    calls = [{"name": name, "arguments": arguments}]
    assert asyncio.run(_report(simulator.url, calls, reports))
    assert [report.tool for report in reports] == [name]


def test_each_call_is_told_as_it_ends_however_long_the_next_one_takes(
    simulator: SimulatorProcess,
) -> None:
    endless = {"duration_ms": 3_600_000, "poll_ms": 10}
    calls = [
        {"name": "echo", "arguments": {"text": "x"}},
        {"name": "bench", "arguments": endless},
    ]

    async def first() -> CallReport:
        async with aclosing(run(simulator.url, calls)) as reports:
            return await anext(reports)

    assert asyncio.run(first()) == CallReport("echo", "Finished.", succeeded=True)


def test_a_server_without_a_list_is_told() -> None:
    with pytest.raises(RuntimeError, match="cannot be listed"):
        main("http://127.0.0.1:9/mcp", lambda report: None)


async def _report(url: str, calls: list[dict[str, Any]], reports: list[CallReport]) -> bool:
    async for report in run(url, calls):
        reports.append(report)
    return all(report.succeeded for report in reports)
