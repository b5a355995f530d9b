"""A policy as a file: what was written is read, by others too; what is no policy is refused."""

import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals import policy_files
from approvals.policy import read_rule
from approvals.policy_files import MAX_BYTES, BadFile, read, write
from tests.conftest import CHECKOUT

_ODD = (
    *("no", "Yes", "off", "~", "null", "012", "1e5", "1_000", "0x1F", "2026-01-01", "12:30:45"),
    *("=", "<<", "&a", "*a", "!x", "- x", "a: b", "# x", " x ", "\r\n", "\u2028", "\x85", "\x00"),
)
_text = st.text(max_size=30) | st.sampled_from(_ODD)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(_text, _json, max_size=5), max_size=4))
def test_whatever_was_written_is_read_as_it_was(rules: list[dict[str, Any]]) -> None:
    back = read(write(rules, ["of\na team"]))
    assert repr(back) == repr(rules)


@settings(max_examples=200, deadline=None)
@given(st.lists(_text, max_size=4))
def test_text_is_text_to_every_other_reader_of_yaml(texts: list[str]) -> None:
    written = write([{"texts": texts}])
    assert yaml.safe_load(written)["rules"][0]["texts"] == texts


@pytest.mark.parametrize("word", ["no", "off", "NO", "012", "0o14", "2026-01-01", "~", "1_000"])
def test_what_only_yaml_takes_for_something_else_is_text(word: str) -> None:
    assert read(f"mcpdesk_policy: 1\nrules: [{word}]") == [word]


def test_numbers_truth_and_nothing_are_written_as_in_json() -> None:
    text = "mcpdesk_policy: 1\nrules: [1, -2.5, 1e3, true, false, null]"
    assert repr(read(text)) == "[1, -2.5, 1000.0, True, False, None]"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "This is not a policy"),
        ("rules: []", "This is not a policy"),
        ("mcpdesk_policy: 2\nrules: []", "format 1 only"),
        ("mcpdesk_policy: true\nrules: []", "format 1 only"),
        ("mcpdesk_policy: 1", "stands a list of rules"),
        ("mcpdesk_policy: 1\nrules: {}", "stands a list of rules"),
        ("mcpdesk_policy: 1\nrules: []\nteam: x", "nothing else"),
        ("mcpdesk_policy: 1\nrules: []\nrules: [x]", "Line 3: “rules” stands here twice"),
        ("mcpdesk_policy: 1\nrules:\n- effect: ask\n  effect: allow", "Line 4: “effect”"),
        ("mcpdesk_policy: 1\nrules:\n- 1: x", "Line 3: a name must be text"),
        ("mcpdesk_policy: 1\nrules:\n- &a x\n- *a", "Line 3: anchors and aliases"),
        ('mcpdesk_policy: 1\nrules:\n- "a\\ud800"', "Line 3: half a character"),
        ('mcpdesk_policy: 1\nrules:\n- "a\\udfff": 1', "Line 3: half a character"),
        ("mcpdesk_policy: 1\nrules: [!!python/object/apply:os.getcwd []]", "Line 2: tags"),
        ("mcpdesk_policy: 1\nrules: [!!float 1]", "Line 2: tags"),
        ("mcpdesk_policy: 1\nrules: []\n---\nx", "Line 3: a file holds one policy"),
        ("mcpdesk_policy: 1\nrules: [", "this is not YAML"),
        ("mcpdesk_policy: 1\n\trules: []", "Line 2: this is not YAML"),
        ("mcpdesk_policy: 1\nrules: ['\x00']", "not text in YAML"),
        ("mcpdesk_policy: 1\nrules: [1" + "0" * 5000 + "]", "not text in YAML"),
        ("[" * 5000, "nests more than a policy can"),
        ("mcpdesk_policy: 1\nrules: [" + "x," * 50_000 + "]", "holds or nests more"),
        ("x" * (MAX_BYTES + 1), "larger than 256 KiB"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_line_where_it_goes_wrong(
    text: str, says: str
) -> None:
    with pytest.raises(BadFile) as refused:
        read(text)
    assert says in refused.value.sentence


def test_a_file_that_would_unfold_without_end_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    started = time.thread_time()
    with pytest.raises(BadFile, match="anchors"):
        read("\n".join(lines))
    assert time.thread_time() - started < 1


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_a_list_or_a_refusal(text: str) -> None:
    for whole in (text, f"mcpdesk_policy: 1\nrules:\n{text}"):
        try:
            assert isinstance(read(whole), list)
        except BadFile as refused:
            assert refused.sentence.endswith((".", ")"))


def test_people_are_turned_wherever_a_rule_names_them_and_the_rule_stays_as_it_was() -> None:
    step = {"after_s": 60, "people": [3]}
    rule = {
        "starter": {"people": [1]},
        "ask": {"people": [2], "escalation": [step, "odd"]},
        "questions": {"people": [4]},
        "people": [9],
    }
    turned = policy_files.with_people(rule, lambda people: [one * 10 for one in people])
    assert turned == {
        "starter": {"people": [10]},
        "ask": {"people": [20], "escalation": [{"after_s": 60, "people": [30]}, "odd"]},
        "questions": {"people": [40]},
        "people": [9],
    }
    assert step["people"] == [3]


def test_the_file_in_the_documentation_is_a_policy() -> None:
    page = (CHECKOUT / "docs" / "policies.md").read_text()
    rules = read(page.split("```yaml\n")[1].split("```")[0])
    for rule in rules:
        turned = policy_files.with_people(rule, lambda people: list(range(len(people))))
        assert read_rule({name: value for name, value in turned.items() if name != "enabled"})
