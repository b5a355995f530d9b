"""Whom a rule asks: steps of escalation, remembering, and who answers what the server asks."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.policy import (
    DEFAULT_ASK,
    Audience,
    BadRule,
    Effect,
    Request,
    Step,
    answering,
    consequence,
    gate,
    read_ask,
    read_questions,
    read_rule,
)

REQUEST = Request("build", "deploy", {"amount": 7}, user_id=7, role="operator")
ALLOW = {"name": "allow all", "effect": "allow"}
STEPS = [
    {"after_s": 3600, "audience": "admins", "people": []},
    {"after_s": 7200, "audience": "people", "people": [4, 5]},
]
GUARD: dict[str, Any] = {
    "name": "guard",
    "effect": "disabled",
    "server": "*",
    "tool": "deploy",
    "starter": {"kind": "role", "roles": ["operator"], "people": []},
    "arguments": [{"path": "amount", "op": "greater", "value": 5}],
    "claims": {},
    "ask": {"audience": "people", "people": [1, 2], "quorum": 2, "escalation": STEPS},
    "questions": {"audience": "approvers", "deadline_s": 86400, "escalation": STEPS},
}


def test_steps_and_remembering_are_read_and_written_back() -> None:
    read = read_ask({"escalation": STEPS, "deadline_s": 7201, "remember": True})
    assert read.escalation == (
        Step(3600, Audience.ADMINS),
        Step(7200, Audience.PEOPLE, (4, 5)),
    )
    assert read.remember
    assert read_ask(read.as_json()) == read
    assert read.as_json()["escalation"] == STEPS


def test_nothing_is_remembered_and_nothing_escalates_unless_a_rule_says_so() -> None:
    for plain in (read_ask({}), DEFAULT_ASK):
        assert (plain.remember, plain.escalation) == (False, ())


@pytest.mark.parametrize(
    "wrong",
    [
        {"escalation": [{"after_s": 0, "audience": "admins"}]},
        {"escalation": [{"after_s": True, "audience": "admins"}]},
        {"escalation": [{"audience": "admins"}]},
        {"escalation": [{"after_s": 60}]},
        {"escalation": [{"after_s": 60, "audience": "everybody"}]},
        {"escalation": [{"after_s": 60, "audience": "people"}]},
        {"escalation": [{"after_s": 60, "audience": "admins", "allow": True}]},
        {"escalation": [{"after_s": 60, "audience": "requester"}]},
        {"escalation": list(reversed(STEPS))},
        {"escalation": [STEPS[0], STEPS[0]]},
        {"escalation": STEPS, "deadline_s": 7200},
        {"escalation": [{"after_s": n, "audience": "admins"} for n in (1, 2, 3, 4)]},
        {"escalation": STEPS[0]},
        {"remember": "yes"},
    ],
)
def test_steps_that_could_not_be_taken_are_refused_and_never_allow(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadRule):
        read_ask(wrong)
    assert gate([{**ALLOW, "ask": wrong}, ALLOW], REQUEST).effect is Effect.ASK


def test_whoever_started_it_can_be_a_step_where_four_eyes_are_not_asked_for() -> None:
    step = [{"after_s": 60, "audience": "requester"}]
    assert read_ask({"four_eyes": False, "escalation": step}).escalation


@pytest.mark.parametrize("wrong", [{"at_deadline": "deny"}, {"remember": True}, {"quorum": 0}, 7])
def test_an_answer_is_neither_given_by_a_clock_nor_remembered(wrong: Any) -> None:
    with pytest.raises(BadRule):
        read_questions(wrong)
    assert gate([{**ALLOW, "questions": wrong}, ALLOW], REQUEST).effect is Effect.ASK


def test_the_rule_that_matches_says_who_answers_whatever_its_effect() -> None:
    for effect in ("allow", "ask"):
        rule = {"name": "r", "effect": effect, "questions": {"audience": "admins", "quorum": 2}}
        found = gate([rule], REQUEST)
        assert found.questions == read_questions({"audience": "admins", "quorum": 2})
    assert gate([ALLOW], REQUEST).questions is None
    assert gate([], REQUEST).questions is None


def test_with_a_broken_rule_questions_go_to_others_than_whoever_started_it() -> None:
    found = gate([{"name": "broken"}, ALLOW], REQUEST)
    assert found.questions == DEFAULT_ASK
    assert DEFAULT_ASK.four_eyes


def test_questions_can_go_back_to_whoever_started_it() -> None:
    assert read_questions({"audience": "requester"}).audience is Audience.REQUESTER
    with pytest.raises(BadRule, match="four eyes"):
        read_questions({"audience": "requester", "four_eyes": True})


def test_a_rule_names_everybody_it_asks() -> None:
    assert read_rule(GUARD).named == {1, 2, 4, 5}
    started = {**GUARD, "starter": {"kind": "people", "people": [9]}}
    assert read_rule(started).named == {1, 2, 4, 5, 9}


def test_all_of_it_is_said_in_words() -> None:
    names = {1: "Ada", 2: "Ben", 4: "Cleo", 5: "Dan"}
    rule = read_rule({**GUARD, "effect": "ask", "ask": {**GUARD["ask"], "remember": True}})
    assert consequence(rule, names) == (
        "ask 2 of named people (Ada, Ben), not whoever starts it, after 1 hour also the team's "
        "admins, after 2 hours also named people (Cleo, Dan), unless such a call was approved "
        "before and that is remembered"
    )
    assert answering(rule.questions, names) == (
        "What the server asks meanwhile is answered by one of the team's approvers, after 1 hour "
        "also the team's admins, after 2 hours also named people (Cleo, Dan), within 1 day (then "
        "it expires)."
    )
    assert answering(None) == ""


# --- a rule that was damaged never turns into a permission

_junk = st.sampled_from(
    [None, True, 0, -1, 10**30, 1.5, "", "allow", "x", [], ["*"], {}, {"effect": "allow"}]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, one in inner:
        found.append((*path, key))
        if isinstance(one, dict | list):
            found += _places(one, (*path, key))
    return found


def _with(value: Any, path: tuple[Any, ...], change: str, junk: Any) -> Any:
    """A copy of the value where one place is replaced, removed, or called something else."""
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) > 1:
        copy[path[0]] = _with(copy[path[0]], path[1:], change, junk)
    elif change == "replace":
        copy[path[0]] = junk
    elif isinstance(copy, dict):
        kept = copy.pop(path[0])
        if change == "rename":
            copy[f"{path[0]}x"] = kept
    else:
        del copy[path[0]]
    return copy


_damage = st.tuples(
    st.sampled_from(_places(GUARD)), st.sampled_from(["replace", "remove", "rename"]), _junk
)


@settings(max_examples=400, deadline=1000)
@given(_damage)
def test_a_damaged_rule_asks_or_is_read_as_it_stands_and_never_allows_by_error(
    damage: tuple[tuple[Any, ...], str, Any],
) -> None:
    damaged = _with(GUARD, *damage)
    found = gate([damaged, ALLOW], REQUEST)
    try:
        read = read_rule(damaged)
    except BadRule:
        assert (found.effect, found.ask, found.number) == (Effect.ASK, DEFAULT_ASK, 1)
        assert found.error
        return
    if found.number == 1:
        assert found.effect is (Effect.ASK if found.error else read.effect)
    else:
        # it can be read, and says in so many words that it is about something else
        assert (read.tool, read.server, read.starter, read.conditions, read.claims) != (
            read_rule(GUARD).tool,
            "*",
            read_rule(GUARD).starter,
            read_rule(GUARD).conditions,
            (),
        )


_steps = st.lists(st.integers(1, 5000), unique=True, max_size=3).map(sorted)


@given(_steps, st.none() | st.integers(60, 6000), st.booleans())
def test_steps_are_read_exactly_when_each_comes_later_and_all_before_the_deadline(
    times: list[int], deadline_s: int | None, remember: bool
) -> None:
    raw = {
        "deadline_s": deadline_s,
        "remember": remember,
        "escalation": [{"after_s": at, "audience": "admins", "people": []} for at in times],
    }
    fits = not times or deadline_s is None or times[-1] < deadline_s
    try:
        read = read_ask(raw)
    except BadRule:
        assert not fits
    else:
        assert fits
        assert [step.after_s for step in read.escalation] == times
        assert read_ask(read.as_json()) == read
