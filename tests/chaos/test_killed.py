"""Killed for good at every step of the table "What is written when" (domain.md), and started again.

Whatever the step: nothing is done twice, no question is shown twice, no answer is lost or sent
twice, and where the desk cannot know what became of a call, it says so (`unknown`).
"""

from typing import Any

import pytest

from tests.chaos.machine import AFTER_LEASES, Machine, Story

pytestmark = pytest.mark.chaos

ALL = pytest.mark.parametrize("postgres", [True, False], ids=["and-postgres", "worker"])
SURE, UNKNOWN = "completed", "unknown"

#: tool, arguments, point, kind of request, the how-manieth, outcome, how often the work was done
STEPS: list[tuple[str, dict[str, Any], str, str, int, str, int]] = [
    # a call
    ("echo", {}, "claimed", "_Claimed", 1, SURE, 1),
    ("echo", {}, "prepared", "Call", 1, UNKNOWN, 0),
    ("slow_call", {"duration_ms": 300}, "on its way", "Call", 1, UNKNOWN, 1),
    ("echo", {}, "arrived", "Call", 1, UNKNOWN, 1),
    ("echo", {}, "applied", "Call", 1, SURE, 1),
    # a call that asks
    ("ask_once", {}, "arrived", "Call", 1, UNKNOWN, 0),
    ("ask_once", {}, "applied", "Call", 1, SURE, 1),
    ("ask_once", {}, "claimed", "_Claimed", 2, SURE, 1),
    ("ask_once", {}, "prepared", "Call", 2, UNKNOWN, 0),
    ("ask_once", {}, "arrived", "Call", 2, UNKNOWN, 1),
    ("ask_once", {}, "applied", "Call", 2, SURE, 1),
    ("ask_rounds", {"rounds": 3}, "applied", "Call", 2, SURE, 1),
    # a call that becomes a task
    ("run_task", {"duration_ms": 0}, "arrived", "Call", 1, UNKNOWN, 1),
    ("run_task", {"duration_ms": 0}, "applied", "Call", 1, SURE, 1),
    ("run_task", {"duration_ms": 0}, "prepared", "Poll", 1, SURE, 1),
    ("run_task", {"duration_ms": 0}, "arrived", "Poll", 1, SURE, 1),
    ("run_task", {"duration_ms": 0}, "applied", "Poll", 1, SURE, 1),
    # a task that asks
    ("task_asks", {}, "arrived", "Poll", 1, SURE, 1),
    ("task_asks", {}, "applied", "Poll", 1, SURE, 1),
    ("task_asks", {}, "prepared", "Update", 1, SURE, 1),
    ("task_asks", {}, "arrived", "Update", 1, SURE, 1),
    ("task_asks", {}, "applied", "Update", 1, SURE, 1),
    ("task_asks", {}, "arrived", "Poll", 2, SURE, 1),
    ("task_asks", {}, "applied", "Poll", 2, SURE, 1),
    ("ask_then_task_asks", {}, "applied", "Call", 2, SURE, 1),
    ("task_drops_answer", {"drops": 1}, "arrived", "Update", 2, SURE, 1),
]


@pytest.mark.parametrize(("tool", "arguments", "at", "kind", "nth", "state", "done"), STEPS)
def test_nothing_is_lost_and_nothing_happens_twice(
    machine: Machine,
    tool: str,
    arguments: dict[str, Any],
    at: str,
    kind: str,
    nth: int,
    state: str,
    done: int,
) -> None:
    story = Story(machine, tool, nonce(tool, at, kind, nth), **arguments)
    story.dies(at, kind, nth, postgres=True)
    story.work()

    report = story.report()
    assert (report["state"], machine.done_in_the_end(story.nonce)) == (state, done)
    check(report, machine, sent=2 if tool == "task_drops_answer" else 1)


@pytest.mark.parametrize("at", ["claimed", "prepared", "on its way", "arrived", "applied"])
def test_a_worker_that_dies_alone_leaves_what_the_database_knows(machine: Machine, at: str) -> None:
    kind = "_Claimed" if at == "claimed" else "Call"
    story = Story(machine, "slow_call", nonce("alone", at), duration_ms=300)
    story.dies(at, kind, postgres=False)
    story.work()

    report = story.report()
    assert report["state"] == (SURE if at in {"claimed", "applied"} else UNKNOWN)
    assert machine.done_in_the_end(story.nonce) == (0 if at == "prepared" else 1)
    check(report, machine, sent=1)


@ALL
@pytest.mark.parametrize("tool", ["ask_once", "task_asks"])
def test_a_decision_that_was_saved_is_delivered(
    machine: Machine, postgres: bool, tool: str
) -> None:
    story = Story(machine, tool, nonce(tool, "decided", postgres))
    story.dies_deciding(postgres=postgres)
    story.work(answers=False)

    report = story.report()
    assert (report["state"], machine.simulator.done(story.nonce)) == ("completed", 1)
    check(report, machine, sent=1)


def test_of_several_decisions_those_that_were_saved_are_kept(machine: Machine) -> None:
    story = Story(machine, "ask_many", nonce("ask_many"), keys=3)
    for _ in range(3):
        story.dies_deciding(postgres=True)
    story.work(answers=False)

    report = story.report()
    assert (report["state"], len(report["questions"])) == ("completed", 3)
    check(report, machine, sent=1)


@pytest.mark.parametrize("at", ["prepared", "arrived", "applied"])
def test_a_cancellation_is_not_forgotten(machine: Machine, at: str) -> None:
    story = Story(machine, "cancel_honoured", nonce("cancel", at))
    story.dies("applied", "Call", postgres=False)
    story.cancel()
    story.dies(at, "Cancel", postgres=True)
    story.work()

    report = story.report()
    assert (report["state"], machine.simulator.done(story.nonce)) == ("cancelled", 0)
    assert machine.simulator.side_effects()["cancellations"]["cancel_honoured"] <= 2
    check(report, machine, sent=1)


def test_a_desk_that_is_killed_again_and_again_gets_there_all_the_same(machine: Machine) -> None:
    story = Story(machine, "task_asks_twice", nonce("often"))
    deaths = 0
    while not story.work(die={"at": "applied", "kind": "Poll", "nth": 2}):
        story.now += AFTER_LEASES
        deaths += 1
        assert deaths < 30

    report = story.report()
    assert (report["state"], machine.simulator.done(story.nonce)) == ("completed", 1)
    assert deaths >= 1
    check(report, machine, sent=1)


def nonce(*parts: object) -> str:
    return "-".join(map(str, parts)).replace(" ", "_")


def check(report: dict[str, Any], machine: Machine, sent: int) -> None:
    """What holds at the end of every story."""
    effects = machine.simulator.side_effects()
    assert all(count <= 1 for count in effects["by_nonce"].values())
    assert all(count == sent for count in effects["answers"].values()), effects["answers"]
    assert effects["ignored_answers"] == {}
    assert report["due"] is False
    asked = [(key, source) for key, source, _, _ in report["questions"]]
    assert len(asked) == len(set(asked)), "a question was opened twice"
    assert sorted(report["approvals"]) == sorted(set(report["approvals"]))
    assert len(report["approvals"]) == len(asked)
    assert report["open_approvals"] == 0
    if report["state"] == "completed":
        assert report["has_result"]
        assert set(report["deliveries"]) <= {"observed"}
    for (_, after), (before, _) in zip(report["moves"], report["moves"][1:], strict=False):
        assert after == before, "a change of state has no event"
