import base64
import json

import pytest

from tests.simulator.peer import Clock, Peer


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.parametrize("header", ["mcp-method", "mcp-name", "mcp-protocol-version"])
def test_a_required_header_that_is_missing_is_a_header_mismatch(peer, header):
    answer = peer.call("echo", headers={header: None})
    assert (answer.status, answer.error[0]) == (400, -32020)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("mcp-method", "tasks/get"),
        ("mcp-method", "TOOLS/CALL"),
        ("mcp-name", "another"),
        ("mcp-name", "=?base64?****?="),
        ("mcp-protocol-version", "2025-11-25"),
    ],
)
def test_a_header_that_says_something_else_is_a_header_mismatch(peer, header, value):
    assert peer.call("echo", headers={header: value}).error[0] == -32020


def test_an_encoded_name_is_decoded_before_it_is_compared(peer):
    assert peer.call("echo", headers={"mcp-name": encoded("echo")}).status == 200


def test_parameters_are_compared_with_their_headers(peer):
    arguments = {"region": "Ünited", "priority": 5, "dry_run": True, "target": {"zone": "z"}}
    right = {
        "mcp-param-region": encoded("Ünited"),
        "mcp-param-priority": "5.0",
        "mcp-param-dry-run": "true",
        "mcp-param-zone": "z",
    }
    assert peer.call("mirror_parameters", arguments, headers=right).status == 200
    for name, wrong in [("region", "x"), ("priority", "6"), ("dry-run", "True"), ("zone", None)]:
        headers = right | {f"mcp-param-{name}": wrong}
        assert peer.call("mirror_parameters", arguments, headers=headers).error[0] == -32020


def test_a_null_parameter_has_no_header(peer):
    assert peer.call("mirror_parameters", {}, headers={"mcp-param-zone": "z"}).error[0] == -32020
    assert peer.call("mirror_parameters", {}).status == 200


def test_another_version_is_told_what_is_supported(peer):
    answer = peer.rpc(
        "server/discover",
        meta={"io.modelcontextprotocol/protocolVersion": "2031-01-01"},
        headers={"mcp-protocol-version": "2031-01-01"},
    )
    data = {"supported": ["2026-07-28"], "requested": "2031-01-01"}
    assert (answer.error[0], answer.message["error"]["data"]) == (-32022, data)


@pytest.mark.parametrize("key", ["protocolVersion", "clientCapabilities"])
def test_a_request_without_the_required_meta_is_invalid(peer, key):
    answer = peer.rpc("server/discover", meta={f"io.modelcontextprotocol/{key}": None})
    assert (answer.status, answer.error[0]) == (400, -32602)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"accept": "application/json"}, 406),
        ({"content-type": "text/plain"}, 415),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
)
def test_the_transport_is_strict_about_media_types_and_origin(peer, headers, status):
    assert peer.call("echo", headers=headers).status == status


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{oops", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "server/discover"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "server/discover"}', -32600),
        (b"[" * 100_000, -32700),
    ],
)
def test_a_body_that_is_no_request_is_refused(peer, body, code):
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
    }
    assert peer.http("POST", "/mcp", body, headers).error[0] == code


def test_an_unknown_method_is_404_with_32601(peer):
    answer = peer.rpc("tasks/list")
    assert (answer.status, answer.error[0]) == (404, -32601)


def test_only_post_reaches_the_endpoint(peer):
    assert peer.http("GET", "/mcp").status == 405
    assert peer.http("DELETE", "/mcp").status == 405


def test_a_token_is_demanded_and_can_be_changed(clock: Clock):
    peer = Peer(clock, token="first")
    assert peer.call("echo").status == 401
    assert peer.call("echo", headers={"authorization": "Bearer first"}).status == 200
    peer.control("POST", "/token", {"token": "second"})
    expired = peer.call("echo", headers={"authorization": "Bearer first"})
    assert (expired.status, expired.headers["www-authenticate"]) == (401, "Bearer")


def test_a_legacy_server_answers_a_modern_request_without_a_modern_error(clock: Clock):
    peer = Peer(clock, legacy=True)
    answer = peer.rpc("server/discover")
    assert (answer.status, answer.error[0]) == (400, -32000)


def test_a_legacy_server_has_its_handshake(clock: Clock):
    peer = Peer(clock, legacy=True)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    answer = peer.http("POST", "/mcp", json.dumps(hello).encode())
    assert answer.result["protocolVersion"] == "2025-11-25"
    session = {"mcp-session-id": answer.headers["mcp-session-id"]}
    listing = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).encode()
    assert peer.http("POST", "/mcp", listing, session).result["tools"]


def test_requests_are_reported_without_what_was_in_them(peer):
    peer.call("echo", {"text": "secret"})
    report = peer.control("GET", "/requests")
    assert report["by_method"] == {"tools/call": 1}
    assert {k: report["recent"][0][k] for k in ("method", "name", "id", "instance")} == {
        "method": "tools/call",
        "name": "echo",
        "id": 1,
        "instance": "a",
    }
    assert "secret" not in json.dumps(report)


def test_a_reset_forgets_everything(peer):
    task_id = peer.start("task_at_once")
    peer.control("POST", "/reset")
    assert peer.rpc("tasks/get", taskId=task_id).error[0] == -32602
    assert peer.side_effects()["total"] == 0


def test_tools_come_in_pages_without_gaps(peer, monkeypatch):
    monkeypatch.setattr("mcpdesk.simulator.dispatch.PAGE", 7)
    names, cursor = [], {}
    while True:
        page = peer.rpc("tools/list", **cursor).result
        names += [tool["name"] for tool in page["tools"]]
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert names == list(peer.worlds[0].tools)
