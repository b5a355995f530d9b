"""Tools for tests: one for each course that a call or a task can take."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcpdesk.simulator.protocol import INTERNAL_ERROR, Json, RpcError, text_result
from mcpdesk.simulator.scripts import (
    FOREVER_MS,
    Ask,
    Cancel,
    Fail,
    Script,
    State,
    StateOnly,
    Story,
    Tool,
    Work,
)
from mcpdesk.simulator.tools.forms import LAWLESS, QUESTIONS
from mcpdesk.simulator.tools.parts import (
    NONCE,
    choice_field,
    flag_field,
    form,
    integer_field,
    link,
    roots,
    sampling,
    text_field,
)

Play = Callable[[Json], Script]

DURATION = integer_field(description="How long the task works, in milliseconds", minimum=0)
TASK_PROPERTIES: dict[str, Json] = {
    "nonce": NONCE,
    "duration_ms": DURATION,
    "poll_ms": integer_field(description="pollIntervalMs of the task (500)", minimum=1),
    "ttl_ms": integer_field(description="ttlMs of the task (an hour)", minimum=1),
}


def confirm(message: str = "Go on?") -> Json:
    """A yes or no form."""
    return form(message, confirm=flag_field(title="Go on"))


def asks(count: int, prefix: str = "question") -> dict[str, Json]:
    """So many yes or no forms under keys of their own."""
    return {f"{prefix}-{n}": confirm(f"Question {n} of {count}?") for n in range(1, count + 1)}


def call_tool(name: str, description: str, play: Play, **properties: Json) -> Tool:
    """A tool that never makes a task."""
    title = name.replace("_", " ").capitalize()
    return Tool(name, title, description, play, {"nonce": NONCE, **properties})


def task_tool(name: str, description: str, play: Play, **properties: Json) -> Tool:
    """A tool that makes a task, with the common arguments for its pace."""
    title = name.replace("_", " ").capitalize()
    return Tool(name, title, description, _paced(play), {**TASK_PROPERTIES, **properties})


def _paced(play: Play) -> Play:
    def script(arguments: Json) -> Script:
        played = play(arguments)
        given = {key: arguments[key] for key in ("poll_ms", "ttl_ms") if key in arguments}
        return replace(played, **given) if given else played

    return script


def work(arguments: Json, default_ms: int = 0) -> Work:
    """The working step that `duration_ms` asks for."""
    return Work(arguments.get("duration_ms", default_ms), "Working")


def fixed(**script: Any) -> Play:
    """A script that no argument changes."""
    made = Script(**script)
    return lambda _: made


def _raise_protocol_error(story: Story) -> Json:
    raise RpcError(story.arguments.get("code", INTERNAL_ERROR), "The tool broke down")


def _tool_error(story: Story) -> Json:
    return text_result("The work could not be done.", is_error=True)


def _echo(story: Story) -> Json:
    return text_result(
        str(story.arguments.get("text", "")), structured={"run": story.effect_number}
    )


def _mirrored(story: Story) -> Json:
    return text_result("Headers and arguments agree.", structured={"got": story.arguments})


def _state_only(arguments: Json) -> Script:
    rounds = arguments.get("rounds", 2) or 1000
    return Script(rounds=(StateOnly(),) * rounds)


def _rounds(arguments: Json) -> Script:
    count = arguments.get("rounds", 3)
    questions = (Ask({f"round-{n}": confirm(f"Round {n}?")}) for n in range(1, count + 1))
    return Script(rounds=tuple(questions))


def _question(arguments: Json) -> Ask:
    name = arguments.get("question", "every-kind")
    return Ask(QUESTIONS[name], lawless=name in LAWLESS)


QUESTION = choice_field(*QUESTIONS, description="Which question, by name")
KEYS = integer_field(description="How many keys at once (3)", minimum=1)
ROUNDS = integer_field(description="How many rounds", minimum=0)

CALL_TOOLS = (
    call_tool("echo", "Says the text again", fixed(finish=_echo), text={"type": "string"}),
    call_tool(
        "mirror_parameters",
        "Takes parameters that must be mirrored in headers",
        fixed(finish=_mirrored),
        region=text_field(**{"x-mcp-header": "Region"}),
        priority=integer_field(**{"x-mcp-header": "Priority"}),
        dry_run=flag_field(**{"x-mcp-header": "Dry-Run"}),
        target={
            "type": "object",
            "properties": {"zone": text_field(**{"x-mcp-header": "Zone"})},
        },
    ),
    call_tool(
        "slow_call",
        "Answers late",
        lambda arguments: Script(delay_ms=arguments.get("duration_ms", 1000)),
        duration_ms=DURATION,
    ),
    call_tool("tool_error", "Reports an error of its own", fixed(finish=_tool_error, effect=False)),
    call_tool(
        "protocol_error",
        "Answers with a JSON-RPC error",
        fixed(finish=_raise_protocol_error, effect=False),
        code=integer_field(description="Error code (-32603)"),
    ),
    call_tool("once_only", "Refuses a second run with the same nonce", fixed(once=True)),
    call_tool("ask_once", "One question, then success", fixed(rounds=(Ask({"go": confirm()}),))),
    call_tool(
        "ask_then_once_only",
        "One question, then a run that is refused a second time",
        fixed(rounds=(Ask({"go": confirm()}),), once=True),
    ),
    call_tool("ask_rounds", "A question in each of several rounds (3)", _rounds, rounds=ROUNDS),
    call_tool(
        "ask_many",
        "Several keys at once in one round",
        lambda arguments: Script(rounds=(Ask(asks(arguments.get("keys", 3))),)),
        keys=KEYS,
    ),
    call_tool(
        "ask_without_state",
        "One question and no requestState, which then must not come back",
        fixed(rounds=(Ask({"go": confirm()}),), state=State.NONE),
    ),
    call_tool(
        "ask_empty_state",
        "One question with an empty requestState, which must come back",
        fixed(rounds=(Ask({"go": confirm()}),), state=State.EMPTY),
    ),
    call_tool(
        "ask_expiring_state",
        "One question whose requestState expires after ttl_ms (1000)",
        lambda a: Script(rounds=(Ask({"go": confirm()}),), state_ttl_ms=a.get("ttl_ms", 1000)),
        ttl_ms=integer_field(description="Life of the state in milliseconds", minimum=0),
    ),
    call_tool(
        "state_only",
        "Rounds with nothing but requestState (2; 0 means for ever)",
        _state_only,
        rounds=ROUNDS,
    ),
    call_tool(
        "ask_link",
        "One link to open",
        fixed(rounds=(Ask({"link": link("Please sign in", "https://accounts.example.com/x")}),)),
    ),
    call_tool(
        "ask_form",
        "One question, chosen by name",
        lambda arguments: Script(rounds=(_question(arguments),)),
        question=QUESTION,
    ),
    call_tool(
        "ask_sampling",
        "Asks for sampling, declared or not",
        fixed(rounds=(Ask({"model": sampling("Say hello")}, lawless=True),)),
    ),
    call_tool(
        "ask_roots",
        "Asks for roots, declared or not",
        fixed(rounds=(Ask({"roots": roots()}, lawless=True),)),
    ),
)


def _asking(arguments: Json, *questions: Ask) -> Script:
    """A task that works for `duration_ms` before, between and after its questions."""
    steps: list[Work | Ask] = [work(arguments)]
    for question in questions:
        steps += [question, work(arguments)]
    return Script(task=tuple(steps))


def _withdrawing(arguments: Json) -> Script:
    after_ms = arguments.get("after_ms", 3000)
    return _asking(arguments, Ask({"go": confirm()}, withdrawn_ms=after_ms))


def _changing(arguments: Json) -> Script:
    after_ms, changed = arguments.get("after_ms", 3000), {"go": confirm("Delete all of it?")}
    return _asking(arguments, Ask({"go": confirm()}, changes_ms=after_ms, changed=changed))


def _cancelling(how: Cancel) -> Tool:
    return task_tool(
        f"cancel_{how}",
        f"A long task whose cancellation is {how}",
        lambda arguments: Script(task=(work(arguments, 600_000),), cancel=how),
    )


AFTER = integer_field(description="After how many milliseconds (3000)", minimum=0)

TASK_TOOLS = (
    task_tool(
        "run_task",
        "A task that works and succeeds",
        lambda arguments: Script(task=(work(arguments, 1000),)),
    ),
    task_tool("task_at_once", "A task that is over when it is made", fixed(task=(Work(0),))),
    task_tool(
        "bench",
        "A task that works for ever, for benchmarks",
        fixed(task=(Work(FOREVER_MS),), poll_ms=1000, ttl_ms=None, effect=False),
    ),
    task_tool("task_asks", "Asks once", lambda a: _asking(a, Ask({"go": confirm()}))),
    task_tool(
        "task_asks_twice",
        "Asks twice, one after the other",
        lambda a: _asking(a, Ask({"first": confirm("First?")}), Ask({"second": confirm("More?")})),
    ),
    task_tool(
        "task_asks_many",
        "Asks several keys at once",
        lambda a: _asking(a, Ask(asks(a.get("keys", 3)))),
        keys=KEYS,
    ),
    task_tool(
        "task_asks_link",
        "Asks to open a link",
        lambda a: _asking(a, Ask({"link": link("Sign in", "https://accounts.example.com/x")})),
    ),
    task_tool(
        "task_asks_form",
        "Asks one question, chosen by name",
        lambda a: _asking(a, _question(a)),
        question=QUESTION,
    ),
    task_tool(
        "task_withdraws",
        "Asks, and no longer wants to know after a while",
        _withdrawing,
        after_ms=AFTER,
    ),
    task_tool(
        "task_changes_question",
        "Puts another question under the same key",
        _changing,
        after_ms=AFTER,
    ),
    task_tool(
        "task_drops_answer",
        "Acknowledges the first answers (1) and loses them",
        lambda a: _asking(a, Ask({"go": confirm()}, drops=a.get("drops", 1))),
        drops=integer_field(description="How many answers are lost", minimum=0),
    ),
    task_tool(
        "ask_then_task",
        "One question before the task",
        lambda a: Script(rounds=(Ask({"before": confirm()}),), task=(work(a, 1000),)),
    ),
    task_tool(
        "ask_then_task_asks",
        "One question before the task, one in it",
        lambda a: replace(
            _asking(a, Ask({"during": confirm()})), rounds=(Ask({"before": confirm()}),)
        ),
    ),
    task_tool(
        "task_tool_error",
        "Ends with the tool's own error",
        lambda a: Script(task=(work(a),), finish=_tool_error, effect=False),
    ),
    task_tool(
        "task_fails",
        "Ends with a JSON-RPC error",
        lambda a: Script(task=(work(a), Fail(INTERNAL_ERROR, "The worker crashed"))),
    ),
    *map(_cancelling, Cancel),
)

SCRIPTED_TOOLS = (*CALL_TOOLS, *TASK_TOOLS)
