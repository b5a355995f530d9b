"""The tools that the official conformance suite expects by name, with the behaviour it expects."""

from mcpdesk.simulator.protocol import INTERNAL_ERROR, Json, text_block, text_result
from mcpdesk.simulator.scripts import Ask, Fail, Finish, Script, State, Story, Tool, Work
from mcpdesk.simulator.tools.parts import (
    flag_field,
    form,
    image_block,
    png,
    roots,
    sampling,
    silence,
    text_field,
)

PIXEL = png(1, 1, b"\xff\0\0")
NAME = form("What is your name?", name=text_field())


def _titled(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _plain(name: str, description: str, finish: Finish, streamed: bool = False) -> Tool:
    script = Script(finish=finish, effect=False)
    return Tool(name, _titled(name), description, lambda _: script, streamed=streamed)


def _scripted(name: str, description: str, script: Script, **properties: Json) -> Tool:
    return Tool(name, _titled(name), description, lambda _: script, properties)


def _always(result: Json) -> Finish:
    return lambda _: result


def _blocks(*blocks: Json) -> Finish:
    return _always({"resultType": "complete", "content": list(blocks)})


def _resource(uri: str, mime_type: str, text: str) -> Json:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


def _hello(story: Story) -> Json:
    name = story.arguments.get("name") or story.content("user_name").get("name", "World")
    return text_result(f"Hello, {name}!")


def _slow(arguments: Json) -> Script:
    seconds = arguments.get("seconds", 1)
    work = Work(int(seconds * 1000), "Computing")
    finish = _always(text_result(f"Computed for {seconds} s"))
    return Script(task=(work,), finish=finish, task_optional=True)


CONTENT = (
    _plain(
        "test_simple_text",
        "Returns one text",
        _always(text_result("This is a simple text response for testing.")),
    ),
    _plain("test_image_content", "Returns an image", _blocks(image_block(PIXEL))),
    _plain("test_audio_content", "Returns a sound", _blocks(silence())),
    _plain(
        "test_embedded_resource",
        "Returns a resource",
        _blocks(
            _resource(
                "test://embedded-resource", "text/plain", "This is an embedded resource content."
            )
        ),
    ),
    _plain(
        "test_multiple_content_types",
        "Returns text, image and resource",
        _blocks(
            text_block("Multiple content types test:"),
            image_block(PIXEL),
            _resource(
                "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
            ),
        ),
    ),
    _plain(
        "test_error_handling",
        "Always reports an error of its own",
        _always(text_result("This tool intentionally returns an error for testing", is_error=True)),
    ),
    _plain(
        "test_tool_with_progress",
        "Reports progress on its event stream",
        _always(text_result("Done with progress")),
        streamed=True,
    ),
    _plain("test_logging_tool", "Would log", _always(text_result("Nothing was logged"))),
    _plain("test_trigger_tool_change", "Announces a changed list of tools", _blocks()),
    _plain("test_trigger_prompt_change", "Announces a changed list of prompts", _blocks()),
    Tool(
        "test_missing_capability",
        "Needs sampling",
        "Can only run for a client that offers sampling",
        lambda _: Script(effect=False),
        needs={"sampling": {}},
    ),
)

ROUNDS = (
    _scripted(
        "test_input_required_result_elicitation",
        "Asks for a name, keeps no state",
        Script(rounds=(Ask({"user_name": NAME}),), finish=_hello, state=State.NONE),
    ),
    Tool(
        "test_streaming_elicitation",
        "Test streaming elicitation",
        "Asks for a name on an event stream",
        lambda _: Script(rounds=(Ask({"user_name": NAME}),), finish=_hello),
        streamed=True,
    ),
    _scripted(
        "test_input_required_result_sampling",
        "Asks the client's model",
        Script(
            rounds=(Ask({"capital_question": sampling("What is the capital of France?")}),),
            finish=lambda story: text_result(str(story.answers["capital_question"])),
            state=State.NONE,
        ),
    ),
    _scripted(
        "test_input_required_result_list_roots",
        "Asks for the client's roots",
        Script(
            rounds=(Ask({"client_roots": roots()}),),
            finish=lambda story: text_result(str(story.answers["client_roots"])),
            state=State.NONE,
        ),
    ),
    _scripted(
        "test_input_required_result_request_state",
        "Asks once and checks the state that comes back",
        Script(
            rounds=(Ask({"confirm": form("Please confirm", ok=flag_field())}),),
            finish=_always(text_result("state-ok")),
        ),
    ),
    _scripted(
        "test_input_required_result_tampered_state",
        "Asks once and refuses a changed state",
        Script(rounds=(Ask({"confirm": form("Please confirm", ok=flag_field())}),)),
    ),
    _scripted(
        "test_input_required_result_multiple_inputs",
        "Asks three different things at once",
        Script(
            rounds=(
                Ask(
                    {
                        "user_name": NAME,
                        "greeting": sampling("Generate a greeting"),
                        "client_roots": roots(),
                    }
                ),
            ),
            finish=_hello,
        ),
    ),
    _scripted(
        "test_input_required_result_multi_round",
        "Asks twice, one after the other",
        Script(
            rounds=(
                Ask({"step1": form("Step 1: What is your name?", name=text_field())}),
                Ask({"step2": form("Step 2: What is your favorite color?", color=text_field())}),
            ),
        ),
    ),
    _scripted(
        "test_input_required_result_capabilities",
        "Asks only what the client declared",
        Script(
            rounds=(Ask({"name": NAME, "greeting": sampling("Greet")}, only_declared=True),),
        ),
    ),
)

TASKS = (
    _plain("greet", "Says hello at once", _hello),
    Tool(
        "slow_compute",
        "Slow compute",
        "Computes for some seconds, as a task where the client allows it",
        _slow,
        {"seconds": {"type": "number", "minimum": 0}, "label": text_field()},
    ),
    _scripted(
        "failing_job",
        "A task that ends with the tool's own error",
        Script(
            task=(Work(1000),), finish=_always(text_result("The job went wrong", is_error=True))
        ),
    ),
    _scripted(
        "protocol_error_job",
        "A task that ends with a JSON-RPC error",
        Script(task=(Work(200), Fail(INTERNAL_ERROR, "The job crashed"))),
    ),
    _scripted(
        "confirm_delete",
        "A task that asks before it deletes",
        Script(
            task=(
                Work(100),
                Ask({"confirm": form("Delete the file?", confirm=flag_field())}),
                Work(100),
            ),
            finish=lambda story: text_result(f"Deleted {story.arguments.get('filename')}"),
        ),
        filename=text_field(),
    ),
    _scripted(
        "multi_input",
        "A task that asks two things at once",
        Script(
            task=(
                Ask(
                    {
                        "first": form("The first name?", name=text_field()),
                        "second": form("The second name?", name=text_field()),
                    }
                ),
            ),
        ),
    ),
    _scripted(
        "test_tool_with_task",
        "Asks for a name before it makes a task",
        Script(rounds=(Ask({"user_name": NAME}),), task=(Work(300),), finish=_hello),
    ),
)

CONFORMANCE_TOOLS = (*CONTENT, *ROUNDS, *TASKS)
