"""Cases from faults that people reported of other clients; each one is a behaviour by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from approvals.schema_form import Answer, Refused, Unrenderable, answer, fields, response

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cases.json").read_text(encoding="utf-8")
)


def _having(key: str) -> Any:
    chosen = [case for case in CASES if key in case]
    return pytest.mark.parametrize("case", chosen, ids=[case["name"] for case in chosen])


def _types(value: Any) -> Any:
    """The value with its JSON types beside it, so that 3 is not 3.0 and false is not 0."""
    if isinstance(value, dict):
        return {key: _types(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_types(part) for part in value]
    return type(value).__name__, value


@_having("content")
def test_the_content_is_sent_with_its_json_types(case: dict[str, Any]) -> None:
    found = answer(case["requestedSchema"], case["submitted"])
    assert isinstance(found, Answer)
    assert _types(found.content) == _types(case["content"])


@_having("refused")
def test_the_field_is_refused_with_a_sentence(case: dict[str, Any]) -> None:
    found = answer(case["requestedSchema"], case["submitted"])
    assert isinstance(found, Refused)
    assert list(found.errors) == case["refused"]
    assert all(sentence.endswith(".") for sentence in found.errors.values())


@_having("unrenderable")
def test_it_cannot_be_a_form(case: dict[str, Any]) -> None:
    assert isinstance(answer(case["requestedSchema"], case["submitted"]), Unrenderable)
    assert isinstance(fields(case["requestedSchema"]), Unrenderable)


@_having("shows")
def test_the_choices_are_shown_by_these_titles(case: dict[str, Any]) -> None:
    found = fields(case["requestedSchema"])
    assert not isinstance(found, Unrenderable)
    assert [choice.title for choice in found[0].choices] == case["shows"]


@_having("action")
def test_the_action_carries_no_content(case: dict[str, Any]) -> None:
    made = answer(case["requestedSchema"], case["submitted"])
    assert isinstance(made, Answer)
    assert response(case["action"], made.content) == {"action": case["action"]}


def test_every_case_is_tried() -> None:
    known = {"content", "refused", "unrenderable", "action"}
    assert all(known & case.keys() for case in CASES)
