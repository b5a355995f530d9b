"""What a reply to `server/discover` and `tools/list` means."""

from typing import Any

import pytest

from mcpdesk.mcp.headers import HeaderParam
from mcpdesk.mcp.limits import MAX_TOOLS
from mcpdesk.mcp.notes import Note
from mcpdesk.mcp.outcomes import (
    Discovered,
    LegacyServer,
    NoAnswer,
    Rejected,
    ToolsPage,
    UnsupportedVersion,
    offered_versions,
    read_discover,
    read_tools_page,
)
from mcpdesk.mcp.replies import ErrorReply, ReplyProblem, Unreadable
from tests.mcp.wire import reply

INFO = {"name": "Example", "version": "1.0"}
DISCOVERY = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
    "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
    "instructions": "Be kind.",
    "ttlMs": 3600000,
}


def test_a_modern_server_says_what_it_is() -> None:
    found = read_discover(reply(DISCOVERY))
    assert isinstance(found, Discovered)
    assert found.supported_versions == ("2026-07-28",)
    assert (found.server_info, found.instructions, found.ttl_ms) == (INFO, "Be kind.", 3600000)
    assert found.offers_tasks


@pytest.mark.parametrize(
    "members",
    [
        {"_meta": None},
        {"_meta": {"io.modelcontextprotocol/serverInfo": "text"}},
        {"capabilities": [], "instructions": 5, "ttlMs": -1},
        {"capabilities": {"extensions": "all"}},
    ],
)
def test_what_only_describes_a_server_may_be_missing(members: dict[str, Any]) -> None:
    assert isinstance(read_discover(reply(DISCOVERY | members)), Discovered)


@pytest.mark.parametrize(
    "members", [{"supportedVersions": None}, {"supportedVersions": "x"}, {"resultType": "task"}]
)
def test_a_result_of_something_else_is_no_discovery(members: dict[str, Any]) -> None:
    found = read_discover(reply(DISCOVERY | members))
    assert isinstance(found, NoAnswer)
    assert found.reason == ReplyProblem.INVALID_RESULT


def test_an_unsupported_version_names_the_supported_ones_that_are_dates() -> None:
    named = ["2027-01-01", 5, "x" * 100, "s3cret-of-the-caller", "2027-01-01 "]
    answer = ErrorReply(-32022, "No", {"supported": named}, 400)
    assert read_discover(answer) == UnsupportedVersion(("2027-01-01",))
    assert offered_versions(answer) == ("2027-01-01",)


@pytest.mark.parametrize("data", [None, [], {"supported": "2026-07-28"}, {}])
def test_an_unsupported_version_may_name_none(data: Any) -> None:
    assert read_discover(ErrorReply(-32022, "No", data, 400)) == UnsupportedVersion(())


@pytest.mark.parametrize("code", [-32020, -32021])
def test_a_modern_error_means_a_modern_server(code: int) -> None:
    assert read_discover(ErrorReply(code, "No", None, 400)) == Rejected(code, "No", None, 400)


@pytest.mark.parametrize(
    "answer",
    [
        ErrorReply(-32600, "No session", None, 400),
        ErrorReply(-32601, "Method not found", None, 404),
        ErrorReply(-32601, "Method not found", None, 200),
        ErrorReply(-32602, "Invalid params", None, 200),
        ErrorReply(-32000, "Bad Request: no session id", None, 400),
        Unreadable(ReplyProblem.HTTP_STATUS, "No.", 400, ""),
        Unreadable(ReplyProblem.HTTP_STATUS, "No.", 404, "text/html"),
        Unreadable(ReplyProblem.HTTP_STATUS, "No.", 405, "text/plain"),
        Unreadable(ReplyProblem.HTTP_STATUS, "No.", 406, "application/json"),
    ],
)
def test_a_refusal_without_a_modern_error_means_a_legacy_server(answer: Any) -> None:
    found = read_discover(answer)
    assert isinstance(found, LegacyServer)
    assert found.reason


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (ErrorReply(-32603, "Broken", None, 500), Rejected),
        (ErrorReply(-32603, "Broken", None, 200), Rejected),
        (ErrorReply(-32603, "Busy", None, 503), NoAnswer),
        (Unreadable(ReplyProblem.AUTHORIZATION, "No.", 401, ""), NoAnswer),
        (Unreadable(ReplyProblem.BUSY, "No.", 429, ""), NoAnswer),
        (Unreadable(ReplyProblem.HTTP_STATUS, "No.", 502, "text/html"), NoAnswer),
        (Unreadable(ReplyProblem.MEDIA_TYPE, "No.", 200, "text/html"), NoAnswer),
    ],
)
def test_trouble_says_nothing_about_the_era(answer: Any, kind: type) -> None:
    assert isinstance(read_discover(answer), kind)


# tools


def test_a_server_that_says_too_much_of_itself_is_not_taken_in() -> None:
    found = read_discover(reply(DISCOVERY | {"instructions": "x" * 70_000}))
    assert found == NoAnswer("too_big", "What the server says of itself is over 64 KiB.")


@pytest.mark.parametrize("extensions", ["x" * 1000, ["a"], 5, True, None])
def test_extensions_that_are_no_object_name_none(extensions: Any) -> None:
    capabilities = {"tools": {}, "extensions": extensions}
    found = read_discover(reply(DISCOVERY | {"capabilities": capabilities}))
    assert isinstance(found, Discovered)
    assert (found.capabilities, found.offers_tasks) == ({"tools": {}}, False)


def _tool(name: Any = "deploy", **members: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}} | members


def _page(*tools: Any, **members: Any) -> ToolsPage:
    found = read_tools_page(reply({"resultType": "complete", "tools": list(tools)} | members))
    assert isinstance(found, ToolsPage)
    return found


def test_a_tool_is_kept_with_all_it_came_with() -> None:
    annotated = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "R"}}}
    definition = _tool(
        title="Deploy",
        description="Deploys",
        inputSchema=annotated,
        outputSchema={"type": "array"},
        annotations={"destructiveHint": True, "custom": 1},
        extra=[1],
    )
    (tool,) = _page(definition).tools
    assert (tool.name, tool.title, tool.description) == ("deploy", "Deploy", "Deploys")
    assert (tool.input_schema, tool.output_schema) == (annotated, {"type": "array"})
    assert tool.annotations == {"destructiveHint": True, "custom": 1}
    assert tool.header_plan == (HeaderParam("Mcp-Param-R", ("r",)),)
    assert tool.raw == definition


def test_the_title_may_stand_in_the_annotations() -> None:
    assert _page(_tool(annotations={"title": "Older"})).tools[0].title == "Older"


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "deploy",
        {},
        _tool(None),
        _tool(""),
        _tool(5),
        _tool("x" * 257),
        _tool("a\x00"),
        _tool("bad", inputSchema=None),
        _tool("bad", inputSchema={"type": "string"}),
        _tool("bad", inputSchema={}),
        _tool("bad", description=5),
        _tool("bad", outputSchema="x"),
        _tool("bad", description="x" * 300_000),
        _tool("bad", annotations=[]),
        _tool("bad", inputSchema={"type": "object", "x-mcp-header": "R"}),
    ],
)
def test_one_bad_tool_is_left_out_and_named_while_the_good_ones_stay(bad: Any) -> None:
    page = _page(_tool("first"), bad, _tool("last"))
    assert [tool.name for tool in page.tools] == ["first", "last"]
    (rejected,) = page.rejected
    assert rejected.reason.endswith(".")
    assert len(rejected.name) <= 256


def test_no_more_tools_are_read_than_a_list_may_have() -> None:
    assert len(_page(*[_tool()] * (MAX_TOOLS + 5)).tools) == MAX_TOOLS + 1
    assert len(_page(*[0] * (MAX_TOOLS + 5)).rejected) == MAX_TOOLS + 1


def test_icons_are_not_looked_at() -> None:
    """Each bad one of a million was an error of its own: seconds, and gigabytes."""
    (tool,) = _page(_tool(icons=[0, {"src": 5}])).tools
    assert tool.raw["icons"] == [0, {"src": 5}]


def test_the_reason_does_not_repeat_the_value_that_is_wrong() -> None:
    (rejected,) = _page(_tool("bad", description={"s3cret": 1})).rejected
    assert "description" in rejected.reason
    assert "s3cret" not in rejected.reason


def test_a_reference_into_the_network_is_left_as_it_is() -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": "https://example.com/s.json"}}}
    assert _page(_tool(inputSchema=schema)).tools[0].input_schema == schema


def test_an_empty_cursor_goes_on_and_an_absent_one_ends() -> None:
    assert _page(nextCursor="").next_cursor == ""
    assert _page().next_cursor is None
    assert _page(nextCursor=None).next_cursor is None


def test_a_cursor_that_is_no_text_ends_the_list_with_a_note() -> None:
    page = _page(nextCursor=5)
    assert (page.next_cursor, page.notes) == (None, (Note.CURSOR_UNREADABLE,))


@pytest.mark.parametrize(("ttl", "ms"), [(5, 5), (5.0, 5), (-1, 0), ("5", 0), (None, 0)])
def test_freshness_is_never_negative(ttl: Any, ms: int) -> None:
    assert _page(ttlMs=ttl).ttl_ms == ms


@pytest.mark.parametrize("result", [{}, {"tools": None}, {"tools": {}}, {"resultType": "task"}])
def test_a_result_without_tools_is_no_page(result: dict[str, Any]) -> None:
    assert isinstance(read_tools_page(reply(result)), NoAnswer)


def test_a_refused_list_keeps_the_reason() -> None:
    assert read_tools_page(ErrorReply(-32601, "No", None, 404)) == Rejected(-32601, "No", None, 404)
    assert isinstance(read_tools_page(ErrorReply(-32603, "Busy", None, 429)), NoAnswer)
    answer = Unreadable(ReplyProblem.NOT_JSON, "No.", 200, "application/json")
    assert read_tools_page(answer) == NoAnswer("not_json", "No.")


def test_every_note_has_a_sentence() -> None:
    assert all(note.sentence.endswith(".") for note in Note)
