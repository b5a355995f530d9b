import gzip
import json
from datetime import datetime
from email.utils import parsedate_to_datetime

import pytest

from mcpdesk.simulator.faults.catalog import FAULTS
from mcpdesk.simulator.faults.wire import Ending
from tests.simulator.peer import YES, Peer

SILENT = {name for name, fault in FAULTS.items() if fault.wire.ending is Ending.SILENT}
BROKEN = {name for name, fault in FAULTS.items() if fault.wire.ending is Ending.BROKEN}


async def _at_once(seconds: float) -> None:
    """Instead of asyncio.sleep: pauses are not what these tests are about."""


def misbehave(peer: Peer, fault: str, **more):
    return peer.call("misbehave", {"fault": fault, **more})


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_can_be_met_on_a_call_on_a_task_and_on_the_list(peer, name, monkeypatch):
    monkeypatch.setattr("asyncio.sleep", _at_once)
    answers = [
        misbehave(peer, name),
        peer.rpc("tasks/get", taskId=peer.start("misbehave_task", fault=name)),
        peer.rpc("tools/list", path=f"/mcp?fault={name}&on=tools/list"),
    ]
    for answer in answers:
        assert answer.whole is (name not in SILENT | BROKEN)
        assert bool(answer.status) is (name != "never-answers")


@pytest.mark.parametrize("name", [n for n in FAULTS if n.startswith("sse")])
def test_an_event_stream_says_that_it_is_one(peer, name):
    assert misbehave(peer, name).headers["content-type"] == "text/event-stream"


@pytest.mark.parametrize(
    ("name", "end"), [("sse", b"\n\n"), ("sse-crlf", b"\r\n\r\n"), ("sse-cr", b"\r\r")]
)
def test_the_line_ends_are_those_of_the_name(peer, name, end):
    assert misbehave(peer, name).body.endswith(end)


def test_wide_characters_are_split_between_chunks():
    wire = FAULTS["json-split"].wire
    chunks = wire.cut('{"a":"☃☃☃☃☃☃☃☃"}'.encode())
    assert any(chunk[0] & 0xC0 == 0x80 for chunk in chunks if chunk)


def test_a_compressed_answer_holds_the_normal_one(peer):
    answer = misbehave(peer, "gzip")
    assert answer.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.body))["result"]["resultType"] == "complete"


def test_an_answer_with_a_byte_order_mark_is_the_normal_one_behind_it(peer):
    assert misbehave(peer, "json-bom").body.startswith(b'\xef\xbb\xbf{"jsonrpc"')


def test_work_is_done_when_only_the_answer_is_lost(peer):
    misbehave(peer, "never-answers", nonce="n")
    misbehave(peer, "json-broken", nonce="n")
    assert peer.side_effects()["by_nonce"] == {"n": 2}


@pytest.mark.parametrize("name", ["http-503-seconds", "redirect-307", "http-401", "error-in-500"])
def test_no_work_is_done_by_a_server_that_refused_first(peer, name):
    misbehave(peer, name)
    assert peer.side_effects()["total"] == 0


def test_retry_after_is_told_in_seconds_or_as_a_date(peer, clock):
    answer = misbehave(peer, "http-429-seconds", seconds=7)
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    date = misbehave(peer, "http-503-date", seconds=7).headers["retry-after"]
    assert parsedate_to_datetime(date).timestamp() == clock.now_ms / 1000 + 7


def test_a_redirect_to_another_origin_names_this_server_otherwise(peer):
    answer = misbehave(peer, "redirect-other-origin")
    assert (answer.status, answer.headers["location"]) == (307, "http://localhost:8650/mcp")


def test_a_fault_strikes_after_some_exchanges_and_for_some(peer):
    rule = {"fault": "not-found", "after": 1, "times": 2}
    task_id = peer.start("misbehave_task", **rule)
    statuses = [peer.rpc("tasks/get", taskId=task_id).status for _ in range(4)]
    assert statuses == [200, 400, 400, 200]


def test_two_tasks_meet_their_faults_each_on_its_own(peer):
    first, second = (peer.start("misbehave_task", fault="not-found", times=1) for _ in range(2))
    assert peer.rpc("tasks/get", taskId=first).status == 400
    assert peer.rpc("tasks/get", taskId=second).status == 400
    assert peer.get(first)["taskId"] == first


def test_a_fault_can_be_about_another_method_of_the_task(peer, clock):
    rule = {"fault": "invalid-params-after-work", "on": "tasks/update", "asks": True}
    task_id = peer.start("misbehave_task", duration_ms=0, **rule)
    assert peer.update(task_id, go=YES).error[0] == -32602
    assert peer.get(task_id)["status"] == "completed"


def test_a_server_becomes_faulty_and_sound_again_by_control(peer):
    rule = {"fault": "http-500", "on": "tools/call"}
    assert peer.control("POST", "/faults", [rule]) == {"armed": 1}
    assert peer.call("echo").status == 500
    assert peer.rpc("tools/list").status == 200
    peer.control("POST", "/faults", [])
    assert peer.call("echo").status == 200


def test_arming_a_fault_that_nobody_knows_is_refused(peer):
    assert "No such fault" in peer.control("POST", "/faults", [{"fault": "gremlin"}])["error"]


def test_a_server_is_faulty_at_one_address_and_sound_at_another(peer):
    faulty = peer.rpc("tools/list", path="/mcp?fault=list-bad-tools&on=tools/list").result
    assert "not a tool" in faulty["tools"]
    assert "not a tool" not in peer.rpc("tools/list", path="/mcp").result["tools"]


def test_pages_without_end_have_other_tools_each_time(peer):
    path = "/mcp?fault=list-endless&on=tools/list"
    pages = [peer.rpc("tools/list", path=path).result for _ in range(3)]
    assert len({page["nextCursor"] for page in pages}) == 3
    assert len({page["tools"][0]["name"] for page in pages}) == 3


def test_content_faults_reach_into_the_result_of_a_task(peer):
    task_id = peer.start("misbehave_task", fault="content-unknown", duration_ms=0)
    assert peer.get(task_id)["result"]["content"][0]["type"] == "hologram"


def test_a_handle_stays_readable_where_the_rest_of_the_task_is_wrong(peer):
    rule = {"fault": "task-otherwise-invalid", "on": "tools/call"}
    made = peer.call("misbehave_task", rule).result
    assert made["resultType"] == "task"
    assert (isinstance(made["taskId"], str), made["status"]) == (True, 7)


def test_times_are_the_same_instants_however_they_are_written(peer):
    normal = peer.get(peer.start("misbehave_task"))["createdAt"]
    for fault in ("time-offset-zero", "time-offset"):
        written = peer.get(peer.start("misbehave_task", fault=fault))["createdAt"]
        assert written != normal
        assert datetime.fromisoformat(written) == datetime.fromisoformat(normal)
