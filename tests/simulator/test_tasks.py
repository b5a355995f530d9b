from pathlib import Path

import pytest

from mcpdesk.simulator.stores import SqliteStore
from tests.simulator.peer import NO, YES, Peer


def test_a_task_works_for_its_time_and_then_has_its_result(peer, clock):
    task_id = peer.start("run_task", duration_ms=2000, nonce="n")
    assert peer.get(task_id)["status"] == "working"
    clock.pass_ms(1999)
    assert peer.get(task_id)["status"] == "working"
    clock.pass_ms(1)
    task = peer.get(task_id)
    assert (task["status"], task["result"]["resultType"]) == ("completed", "complete")
    assert peer.side_effects()["by_nonce"] == {"n": 1}


def test_looking_again_does_not_do_the_work_again(peer, clock):
    task_id = peer.start("run_task", duration_ms=0)
    first = peer.get(task_id)
    clock.pass_ms(60_000)
    assert {k: v for k, v in peer.get(task_id).items() if k != "_meta"} == {
        k: v for k, v in first.items() if k != "_meta"
    }
    assert peer.side_effects()["total"] == 1


def test_work_that_nobody_looked_at_is_counted_all_the_same(peer, clock):
    peer.start("run_task", duration_ms=1000)
    assert peer.side_effects()["total"] == 0
    clock.pass_ms(1000)
    assert peer.side_effects()["total"] == 1


def test_a_task_that_asks_goes_on_when_every_key_has_its_answer(peer):
    task_id = peer.start("task_asks_many", keys=2)
    assert list(peer.get(task_id)["inputRequests"]) == ["question-1", "question-2"]
    peer.update(task_id, **{"question-2": YES})
    task = peer.get(task_id)
    assert (task["status"], list(task["inputRequests"])) == ("input_required", ["question-1"])
    peer.update(task_id, **{"question-1": YES})
    assert peer.get(task_id)["status"] == "completed"


def test_a_task_that_asks_twice_asks_one_after_the_other(peer):
    task_id = peer.start("task_asks_twice")
    assert list(peer.get(task_id)["inputRequests"]) == ["first"]
    peer.update(task_id, first=YES)
    assert list(peer.get(task_id)["inputRequests"]) == ["second"]
    peer.update(task_id, second=YES)
    assert peer.get(task_id)["status"] == "completed"


def test_a_no_completes_the_task_with_nothing_done(peer):
    task_id = peer.start("task_asks")
    peer.update(task_id, go=NO)
    task = peer.get(task_id)
    assert task["status"] == "completed"
    assert "declined" in task["result"]["content"][0]["text"]
    assert peer.side_effects()["total"] == 0


def test_answers_to_keys_that_are_not_open_are_acknowledged_counted_and_ignored(peer):
    task_id = peer.start("task_asks")
    assert peer.update(task_id, ghost=YES).result["resultType"] == "complete"
    peer.update(task_id, go=YES)
    peer.update(task_id, go=NO)
    assert peer.get(task_id)["result"]["structuredContent"]["answers"] == {"go": YES}
    report = peer.side_effects()
    assert report["answers"] == {"task_asks:ghost": 1, "task_asks:go": 2}
    assert report["ignored_answers"] == {"task_asks:ghost": 1, "task_asks:go": 1}


def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays(peer):
    task_id = peer.start("task_asks")
    answer = peer.update(task_id, go={"action": "accept", "content": {"confirm": 1}})
    assert answer.error[0] == -32602
    assert list(peer.get(task_id)["inputRequests"]) == ["go"]


def test_a_dropped_answer_is_acknowledged_and_the_question_stays(peer):
    task_id = peer.start("task_drops_answer", drops=2)
    for _ in range(2):
        assert peer.update(task_id, go=YES).status == 200
        assert list(peer.get(task_id)["inputRequests"]) == ["go"]
    peer.update(task_id, go=YES)
    assert peer.get(task_id)["status"] == "completed"


def test_a_question_can_be_withdrawn(peer, clock):
    task_id = peer.start("task_withdraws", after_ms=500)
    assert peer.get(task_id)["status"] == "input_required"
    clock.pass_ms(500)
    assert peer.get(task_id)["status"] == "completed"


def test_another_question_can_come_under_the_same_key(peer, clock):
    task_id = peer.start("task_changes_question", after_ms=500)
    before = peer.get(task_id)["inputRequests"]["go"]
    clock.pass_ms(500)
    after = peer.get(task_id)["inputRequests"]["go"]
    assert before["params"]["message"] != after["params"]["message"]


def test_a_task_can_be_over_when_it_is_made(peer):
    made = peer.call("task_at_once").result
    assert (made["resultType"], made["status"]) == ("task", "completed")
    assert "result" not in made


def test_a_tool_error_completes_and_a_protocol_error_fails(peer):
    assert peer.get(peer.start("task_tool_error"))["result"]["isError"] is True
    failed = peer.get(peer.start("task_fails"))
    assert (failed["status"], failed["error"]["code"]) == ("failed", -32603)
    assert "result" not in failed


@pytest.mark.parametrize(
    ("tool", "status"),
    [
        ("cancel_honoured", "cancelled"),
        ("cancel_ignored", "working"),
        ("cancel_raced", "completed"),
    ],
)
def test_what_comes_of_a_cancellation_is_up_to_the_tool(peer, clock, tool, status):
    task_id = peer.start(tool)
    clock.pass_ms(10)
    assert peer.cancel(task_id).result["resultType"] == "complete"
    assert peer.get(task_id)["status"] == status
    assert peer.side_effects()["cancellations"] == {tool: 1}


def test_a_cancellation_after_the_end_changes_nothing(peer):
    task_id = peer.start("run_task", duration_ms=0)
    before = peer.get(task_id)["result"]
    peer.cancel(task_id)
    assert peer.get(task_id)["result"] == before


def test_an_answer_after_a_cancellation_is_ignored(peer, clock):
    task_id = peer.start("task_asks")
    peer.cancel(task_id)
    peer.update(task_id, go=YES)
    clock.pass_ms(10_000)
    assert peer.get(task_id)["status"] == "cancelled"
    assert peer.side_effects()["total"] == 0


def test_a_task_past_its_lifetime_is_not_found(peer, clock):
    task_id = peer.start("run_task", ttl_ms=1000, duration_ms=60_000)
    clock.pass_ms(999)
    assert peer.get(task_id)["ttlMs"] == 1000
    clock.pass_ms(1)
    assert peer.rpc("tasks/get", taskId=task_id).error == (-32602, "Task has expired")


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
def test_an_unknown_task_is_32602_with_status_400(peer, method):
    answer = peer.rpc(method, taskId="nobody")
    assert (answer.status, answer.error) == (400, (-32602, "Task not found"))


def test_the_state_of_a_round_has_no_place_in_a_task_request(peer):
    task_id = peer.start("bench")
    assert peer.rpc("tasks/get", taskId=task_id, requestState="x").error[0] == -32602


def test_a_client_without_the_extension_gets_no_task(peer):
    core_only = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    answer = peer.call("run_task", meta=core_only)
    assert (answer.status, answer.error[0]) == (400, -32021)
    data = answer.message["error"]["data"]["requiredCapabilities"]
    assert data == {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def test_two_processes_with_one_file_see_one_task_and_count_its_work_once(clock, tmp_path: Path):
    path = tmp_path / "state.sqlite3"
    one, other = Peer(clock, SqliteStore(path)), Peer(clock, SqliteStore(path))
    task_id = one.start("task_asks", nonce="n")
    other.update(task_id, go=YES)
    assert one.get(task_id)["status"] == other.get(task_id)["status"] == "completed"
    assert one.side_effects()["by_nonce"] == {"n": 1}


def test_a_file_keeps_tasks_and_seed_over_a_restart(clock, tmp_path: Path):
    path = tmp_path / "state.sqlite3"
    store = SqliteStore(path)
    seed = store.seed("first")
    task_id = Peer(clock, store, seed=seed).start("task_asks")
    again = SqliteStore(path)
    assert again.seed("second") == "first"
    assert Peer(clock, again).get(task_id)["status"] == "input_required"


def test_the_same_seed_gives_the_same_ids_and_another_seed_others(clock):
    ids = [Peer(clock, seed=seed).start("bench") for seed in ("x", "x", "y")]
    assert ids[0] == ids[1] != ids[2]
