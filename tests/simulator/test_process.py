"""What only a real process, a real socket or a real kill can show."""

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.simulator.peer import CAPABILITIES
from tests.simulator.process import ROOT, SimulatorProcess


def send(server: SimulatorProcess, method: str, **params: Any) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    params["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
    }
    if name := params.get("name") or params.get("taskId"):
        headers["Mcp-Name"] = name
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    connection.request("POST", "/mcp", body, headers)
    return connection.getresponse()


def call(server: SimulatorProcess, tool: str, **arguments: Any) -> Any:
    response = send(server, "tools/call", name=tool, arguments=arguments)
    return json.load(response)["result"]


def test_a_kill_loses_nothing_when_there_is_a_state_file(tmp_path: Path):
    with SimulatorProcess("--state", str(tmp_path / "state.sqlite3")) as server:
        task_id = call(server, "task_asks", nonce="n")["taskId"]
        call(server, "echo", nonce="m")
        server.restart()
        task = json.load(send(server, "tasks/get", taskId=task_id))["result"]
        assert task["status"] == "input_required"
        assert server.side_effects()["by_nonce"] == {"m": 1}


def test_a_broken_stream_is_seen_as_broken_by_a_client():
    with SimulatorProcess() as server:
        response = send(server, "tools/call", name="misbehave", arguments={"fault": "json-broken"})
        with pytest.raises(http.client.IncompleteRead):
            response.read()


def test_a_silent_server_keeps_the_connection_open_and_serves_others():
    with SimulatorProcess() as server:
        silent = send(server, "tools/call", name="misbehave", arguments={"fault": "json-silent"})
        assert silent.status == 200
        assert call(server, "echo", text="still here")["content"][0]["text"] == "still here"
        assert server.requests()["max_in_flight"] == 2


def test_a_subscription_acknowledges_and_then_tells_whole_tasks():
    with SimulatorProcess() as server:
        task_id = call(server, "run_task", duration_ms=200)["taskId"]
        wanted = {"taskIds": [task_id, "unknown"], "toolsListChanged": True}
        response = send(server, "subscriptions/listen", notifications=wanted)
        messages = [json.loads(line[6:]) for line in _data_lines(response, 3)]
    agreed = messages[0]["params"]["notifications"]
    assert agreed == {"taskIds": [task_id], "toolsListChanged": True}
    statuses = [message["params"]["status"] for message in messages[1:]]
    assert statuses == ["working", "completed"]
    assert messages[2]["params"]["result"]["resultType"] == "complete"


def _data_lines(response: http.client.HTTPResponse, count: int) -> list[bytes]:
    lines: list[bytes] = []
    while len(lines) < count:
        line = response.readline()
        if line.startswith(b"data: "):
            lines.append(line)
    return lines


def test_a_taken_port_is_a_sentence_and_a_failure():
    with SimulatorProcess() as server:
        command = [sys.executable, "-m", "mcpdesk.simulator", "--port", str(server.port)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Cannot listen on 127.0.0.1:{server.port}")


def test_several_instances_take_turns_and_keep_to_their_tasks():
    with SimulatorProcess("--instance", "a,b") as server:
        task_ids = [call(server, "bench")["taskId"] for _ in range(2)]
        served = [
            json.load(send(server, "tasks/get", taskId=task_id))["result"]["_meta"]
            for task_id in task_ids
        ]
    assert [meta["mcpdesk.example/instance"] for meta in served] == ["a", "b"]
