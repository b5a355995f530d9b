"""What every request carries (basic/index `_meta`; streamable-http, Request Metadata)."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcpdesk.mcp import requests
from mcpdesk.mcp.headers import HeaderParam
from mcpdesk.mcp.requests import Request
from tests.mcp.wire import TASK_ID

TRACE = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
ALL = {
    "server/discover": lambda **more: requests.discover(7, **more),
    "tools/list": lambda **more: requests.list_tools(7, **more),
    "tools/call": lambda **more: requests.call_tool(7, "deploy", {}, **more),
    "tasks/get": lambda **more: requests.get_task(7, TASK_ID, **more),
    "tasks/update": lambda **more: requests.update_task(7, TASK_ID, {}, **more),
    "tasks/cancel": lambda **more: requests.cancel_task(7, TASK_ID, **more),
}


def _params(request: Request) -> dict[str, Any]:
    params: dict[str, Any] = json.loads(request.body)["params"]
    return params


@pytest.mark.parametrize("method", ALL)
def test_every_request_says_its_version_name_and_capabilities(method: str) -> None:
    request = ALL[method]()
    body, headers = json.loads(request.body), dict(request.headers)
    assert (body["jsonrpc"], body["id"], body["method"]) == ("2.0", 7, method)
    meta = body["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "mcpdesk"
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {
        "elicitation": {"form": {}, "url": {}},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    }
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert headers["mcp-method"] == method
    assert headers["accept"] == "application/json, text/event-stream"


@pytest.mark.parametrize("method", ALL)
def test_a_trace_context_goes_into_the_meta_and_into_nothing_else(method: str) -> None:
    traced, plain = ALL[method](traceparent=TRACE), ALL[method]()
    assert _params(traced)["_meta"].pop("traceparent") == TRACE
    assert _params(plain)["_meta"].keys().isdisjoint({"traceparent"})
    assert traced.headers == plain.headers


@pytest.mark.parametrize("method", ALL)
def test_another_version_is_the_same_in_header_and_body(method: str) -> None:
    request = ALL[method](version="2027-01-01")
    assert dict(request.headers)["mcp-protocol-version"] == "2027-01-01"
    meta = _params(request)["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2027-01-01"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_a_request_about_a_task_names_the_task_in_a_header(method: str) -> None:
    assert dict(ALL[method]().headers)["mcp-name"] == TASK_ID


def test_the_name_of_a_tool_is_encoded_where_a_header_cannot_hold_it() -> None:
    headers = dict(requests.call_tool(1, "größe", {}).headers)
    assert headers["mcp-name"] == "=?base64?Z3LDtsOfZQ==?="


def test_no_request_state_is_sent_where_none_came() -> None:
    assert "requestState" not in _params(requests.call_tool(1, "x", {}, input_responses={}))


@pytest.mark.parametrize("state", ["", " \u00e4\n", '{"a": 1}', "\ud800 lone"])
def test_a_request_state_goes_back_as_it_came(state: str) -> None:
    params = _params(requests.call_tool(1, "x", {}, request_state=state))
    assert params["requestState"] == state


def test_answers_are_sent_also_where_there_are_none_to_give() -> None:
    params = _params(requests.call_tool(1, "x", {}, input_responses={}))
    assert params["inputResponses"] == {}
    assert "inputResponses" not in _params(requests.call_tool(1, "x", {}))


def test_an_empty_cursor_is_a_cursor() -> None:
    assert _params(requests.list_tools(1, ""))["cursor"] == ""
    assert "cursor" not in _params(requests.list_tools(1))


def test_annotated_arguments_of_a_call_are_mirrored() -> None:
    plan = (HeaderParam("Mcp-Param-Region", ("region",)),)
    request = requests.call_tool(1, "x", {"region": "eu"}, header_plan=plan)
    assert ("Mcp-Param-Region", "eu") in request.headers


def test_arguments_that_json_cannot_carry_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        requests.call_tool(1, "x", {"n": float("nan")})


def test_a_request_shows_neither_its_body_nor_its_headers() -> None:
    shown = repr(requests.call_tool(1, "x", {"password": "hunter2"}, request_state="s3cret"))
    assert "hunter2" not in shown
    assert "s3cret" not in shown


def test_the_version_the_desk_reports_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert requests.CLIENT_INFO["version"] == project["project"]["version"]
