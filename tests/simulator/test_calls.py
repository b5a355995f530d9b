import pytest

from mcpdesk.simulator.stores import MemoryStore
from tests.simulator.peer import NO, YES, Peer


def retry(peer: Peer, tool: str, asked: dict, answers: dict, **more):
    return peer.call(tool, requestState=asked["requestState"], inputResponses=answers, **more)


def test_a_call_without_questions_is_answered_at_once_and_counted(peer):
    result = peer.call("echo", {"text": "hi", "nonce": "n"}).result
    assert (result["resultType"], result["content"][0]["text"]) == ("complete", "hi")
    assert peer.side_effects()["by_nonce"] == {"n": 1}


def test_a_question_comes_first_and_the_answer_finishes_the_call(peer):
    asked = peer.call("ask_once").result
    assert asked["resultType"] == "input_required"
    assert peer.side_effects()["total"] == 0
    assert retry(peer, "ask_once", asked, {"go": YES}).result["resultType"] == "complete"
    assert peer.side_effects()["by_tool"] == {"ask_once": 1}


@pytest.mark.parametrize(("action", "word"), [("decline", "declined"), ("cancel", "cancelled")])
def test_a_refusal_ends_the_call_says_so_and_does_nothing(peer, action, word):
    asked = peer.call("ask_once").result
    result = retry(peer, "ask_once", asked, {"go": {"action": action}}).result
    assert word in result["content"][0]["text"]
    assert peer.side_effects()["total"] == 0


def test_each_round_asks_under_a_new_key_with_a_new_state(peer):
    keys, states, answer = [], [], peer.call("ask_rounds", {"rounds": 3}).result
    while answer["resultType"] == "input_required":
        (key,) = answer["inputRequests"]
        keys.append(key)
        states.append(answer["requestState"])
        answer = peer.call(
            "ask_rounds", {"rounds": 3}, requestState=states[-1], inputResponses={key: YES}
        ).result
    assert keys == ["round-1", "round-2", "round-3"]
    assert len(set(states)) == 3


def test_what_is_still_missing_is_asked_again_alone(peer):
    asked = peer.call("ask_many").result
    assert len(asked["inputRequests"]) == 3
    again = retry(peer, "ask_many", asked, {"question-1": YES, "question-3": YES}).result
    assert list(again["inputRequests"]) == ["question-2"]
    assert retry(peer, "ask_many", again, {"question-2": YES}).result["resultType"] == "complete"


def test_rounds_with_state_only_end_after_so_many(peer):
    answer, rounds = peer.call("state_only", {"rounds": 2}).result, 0
    while answer["resultType"] == "input_required":
        assert "inputRequests" not in answer
        rounds += 1
        state = answer["requestState"]
        answer = peer.call("state_only", {"rounds": 2}, requestState=state).result
    assert rounds == 2


def test_instances_that_share_nothing_continue_each_others_rounds(clock):
    peer = Peer(clock, MemoryStore(), MemoryStore(), MemoryStore())
    asked = peer.call("ask_rounds", {"rounds": 2}).result
    for key in ("round-1", "round-2"):
        asked = peer.call(
            "ask_rounds",
            {"rounds": 2},
            requestState=asked["requestState"],
            inputResponses={key: YES},
        ).result
    assert asked["structuredContent"]["instances"] == ["a", "b", "c"]


def test_another_seed_does_not_know_the_state(clock):
    asked = Peer(clock, seed="one").call("ask_once").result
    code, text = retry(Peer(clock, seed="two"), "ask_once", asked, {"go": YES}, request_id=9).error
    assert (code, "integrity" in text) == (-32602, True)


def test_a_changed_state_is_refused(peer):
    asked = peer.call("ask_once").result
    asked["requestState"] += "x"
    assert retry(peer, "ask_once", asked, {"go": YES}).error[0] == -32602


def test_a_state_is_good_for_its_own_call_only(peer):
    asked = peer.call("ask_once", {"nonce": "one"}).result
    answer = peer.call(
        "ask_once", {"nonce": "two"}, requestState=asked["requestState"], inputResponses={"go": YES}
    )
    assert "another call" in answer.error[1]


def test_a_state_expires(peer, clock):
    asked = peer.call("ask_expiring_state", {"ttl_ms": 100}).result
    clock.pass_ms(100)
    answer = peer.call(
        "ask_expiring_state",
        {"ttl_ms": 100},
        requestState=asked["requestState"],
        inputResponses={"go": YES},
    )
    assert "expired" in answer.error[1]


def test_a_retry_under_the_id_of_the_round_before_is_refused(peer):
    asked = peer.call("ask_once", request_id=77).result
    answer = retry(peer, "ask_once", asked, {"go": YES}, request_id=77)
    assert answer.error[0] == -32600


def test_an_answer_without_the_state_of_its_question_is_refused(peer):
    peer.call("ask_once")
    assert peer.call("ask_once", inputResponses={"go": YES}).error[0] == -32602


def test_state_that_nobody_gave_is_refused(peer):
    asked = peer.call("ask_without_state").result
    assert "requestState" not in asked
    answers = {"inputResponses": {"go": YES}}
    assert peer.call("ask_without_state", **answers, requestState="").error[0] == -32602
    assert peer.call("ask_without_state", **answers).result["resultType"] == "complete"


def test_an_empty_state_must_come_back(peer):
    assert peer.call("ask_empty_state").result["requestState"] == ""
    answers = {"inputResponses": {"go": YES}}
    assert peer.call("ask_empty_state", **answers).error[0] == -32602
    done = peer.call("ask_empty_state", **answers, requestState="").result
    assert done["resultType"] == "complete"


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"action": "maybe"},
        {"action": "accept"},
        {"action": "accept", "content": {"confirm": "yes"}},
        {"action": "accept", "content": {}},
        {"action": "decline", "content": {"confirm": True}},
    ],
)
def test_an_answer_that_does_not_fit_its_question_is_refused(peer, response):
    asked = peer.call("ask_once").result
    assert retry(peer, "ask_once", asked, {"go": response}).error[0] == -32602


def test_content_with_an_accepted_link_is_refused(peer):
    asked = peer.call("ask_link").result
    assert retry(peer, "ask_link", asked, {"link": YES}).error[0] == -32602
    assert retry(peer, "ask_link", asked, {"link": {"action": "accept"}}).status == 200


def test_a_second_run_with_the_same_nonce_is_told_apart(peer):
    assert "isError" not in peer.call("once_only", {"nonce": "n"}).result
    assert peer.call("once_only", {"nonce": "n"}).result["isError"] is True
    report = peer.side_effects()
    assert (report["by_nonce"], report["started_by_nonce"]) == ({"n": 1}, {"n": 2})


def test_arguments_that_do_not_fit_are_the_tools_own_error(peer):
    result = peer.call("deploy_project", {"project": "shop"}).result
    assert result["isError"] is True
    assert "environment" in result["content"][0]["text"]


def test_undeclared_questions_are_not_asked_except_by_tools_that_break_the_rules(peer):
    code, _ = peer.call("test_input_required_result_sampling").error
    assert code == -32021
    assert peer.call("ask_sampling").result["resultType"] == "input_required"


def test_a_url_question_needs_the_url_capability(peer):
    form_only = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    assert peer.call("ask_link", meta=form_only).error[0] == -32021
    assert peer.call("ask_once", meta=form_only).result["resultType"] == "input_required"


def test_a_question_before_the_task_is_answered_by_a_retry(peer):
    asked = peer.call("ask_then_task").result
    assert "taskId" not in asked
    task = retry(peer, "ask_then_task", asked, {"before": YES}).result
    assert task["resultType"] == "task"
    assert "requestState" not in task


def test_a_no_before_the_task_makes_none(peer):
    asked = peer.call("ask_then_task").result
    result = retry(peer, "ask_then_task", asked, {"before": NO}).result
    assert (result["resultType"], list(peer.worlds[0].store.tasks())) == ("complete", [])
