from typing import Any

import pytest

from tests.approvals_pure.asking import refused, sent, shown, unrenderable

YES_NO = {
    "type": "boolean",
    "oneOf": [{"const": True, "title": "Ship it"}, {"const": False, "title": "Wait"}],
}
TAGS: dict[str, Any] = {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}


def _values(part: Any) -> list[str]:
    return [choice.value for choice in shown(part).choices]


def _titles(part: Any) -> list[str]:
    return [choice.title for choice in shown(part).choices]


def test_integer_choices_are_sent_as_integers() -> None:
    assert sent({"type": "integer", "enum": [1, 2]}, "2") == {"f": 2}


def test_mixed_choices_post_values_that_cannot_be_confused() -> None:
    part = {"enum": [1, "1", None, True, 1.5]}
    for choice in shown(part).choices:
        found = sent(part, choice.value)["f"]
        assert (type(found), found) == (type(choice.content), choice.content)
    assert len(set(_values(part))) == len(set(_titles(part))) == 5


@pytest.mark.parametrize("value", ["", "two\nlines", "\ttab", "del\x7f"])
def test_a_choice_that_a_browser_cannot_post_posts_its_json_instead(value: str) -> None:
    part = {"type": "string", "enum": ["plain", value]}
    posted = _values(part)[1]
    assert posted.isprintable()
    assert posted
    assert sent(part, posted) == {"f": value}


def test_nothing_posted_is_no_choice_even_when_an_empty_one_is_offered() -> None:
    part = {"type": "string", "enum": ["", "a"]}
    assert sent(part, "") == {}
    refused(part, "", required=True)


def test_the_same_choice_twice_is_shown_once() -> None:
    assert _titles({"enum": ["a", "a", 1, 1.0, "b"]}) == ["a", "1", "b"]


def test_choices_of_another_type_than_the_field_are_not_offered() -> None:
    assert _values({"type": "string", "enum": ["a", 1, None]}) == ["a"]


def test_missing_names_fall_back_to_the_values() -> None:
    assert _titles({"enum": ["a", "b", "c"], "enumNames": ["Ay", 5]}) == ["Ay", "b", "c"]


def test_two_choices_with_one_title_are_told_apart() -> None:
    part = {"oneOf": [{"const": "x", "title": "Yes"}, {"const": "y", "title": "Yes"}]}
    assert _titles(part) == ['Yes ("x")', 'Yes ("y")']


@pytest.mark.parametrize("other", ["Keep ", "K\u0435ep", "Ke\u200bep", "Keep\u00a0"])
def test_two_choices_that_look_the_same_are_told_apart(other: str) -> None:
    part = {"oneOf": [{"const": "x", "title": "Keep"}, {"const": "y", "title": other}]}
    assert _titles(part) == ['Keep ("x")', f'{other} ("y")']


def test_choices_that_differ_in_case_or_accents_are_left_as_they_are() -> None:
    assert _titles({"enum": ["a", "A", "\u00e1"]}) == ["a", "A", "\u00e1"]


def test_a_blank_title_shows_the_value() -> None:
    assert _titles({"oneOf": [{"const": "x", "title": " "}, {"const": "y"}]}) == ["x", "y"]


def test_any_of_titled_constants_is_a_single_choice_too() -> None:
    assert sent({"anyOf": [{"const": "x", "title": "Ex"}, {"const": 2}]}, "2") == {"f": 2}


def test_with_both_lists_only_what_both_permit_is_offered() -> None:
    part = {"enum": ["a", "b"], "oneOf": [{"const": "b", "title": "Bee"}, {"const": "c"}]}
    assert _titles(part) == ["Bee"]


def test_a_constant_is_the_only_choice() -> None:
    assert sent({"const": "yes"}, "yes", required=True) == {"f": "yes"}
    refused({"const": "yes"}, "no")


@pytest.mark.parametrize("enum", [[], None, "abc", [1], [["a"]], [{"a": 1}]])
def test_a_list_that_offers_nothing_to_pick_cannot_be_a_form(enum: Any) -> None:
    part = {"type": "string", "enum": enum}
    if enum is None:
        assert shown(part).kind == "text"
    else:
        unrenderable(part)


def test_a_titled_boolean_is_a_choice_and_sends_a_boolean() -> None:
    assert _titles(YES_NO) == ["Ship it", "Wait"]
    assert sent(YES_NO, "false") == {"f": False}
    refused(YES_NO, None, required=True)


@pytest.mark.parametrize("posted", ["on", "true", "1", "TRUE"])
def test_a_ticked_box_is_true(posted: str) -> None:
    assert sent({"type": "boolean"}, posted) == {"f": True}


@pytest.mark.parametrize("posted", [None, "", "off", "false", "0"])
def test_an_unticked_box_is_false_also_when_optional_or_suggested(posted: str | None) -> None:
    assert sent({"type": "boolean", "default": True}, posted) == {"f": False}


def test_a_box_with_another_word_in_it_is_refused() -> None:
    refused({"type": "boolean"}, "maybe")


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize(("posted", "value"), [("on", True), ("off", False)])
def test_a_yes_or_no_is_sent_as_it_was_said(posted: str, value: bool, required: bool) -> None:
    assert sent({"type": "boolean"}, posted, required=required) == {"f": value}


def test_a_yes_or_no_left_open_is_no_answer_and_never_a_no() -> None:
    assert refused({"type": "boolean"}, "", required=True) == "Answer yes or no."
    assert sent({"type": "boolean"}, "") == {}
    assert sent({"type": ["boolean", "null"]}, "", required=True) == {"f": None}


def test_a_box_that_must_be_ticked_is_refused_unticked() -> None:
    part = {"type": "boolean", "const": True}
    assert "yes" in refused(part, None, required=True)
    assert sent(part, "on", required=True) == {"f": True}


def test_an_optional_box_that_may_only_be_true_is_left_out_unticked() -> None:
    assert sent({"type": "boolean", "enum": [True]}, None) == {}


def test_a_single_string_for_a_list_is_a_list_of_one() -> None:
    assert sent(TAGS, "b") == {"f": ["b"]}


def test_ticking_twice_is_ticking_once() -> None:
    assert sent(TAGS | {"uniqueItems": True}, ["b", "a", "b"]) == {"f": ["b", "a"]}


def test_an_optional_list_left_alone_is_not_sent() -> None:
    assert sent(TAGS | {"minItems": 1}) == {}


def test_unticking_all_that_was_suggested_sends_the_empty_list() -> None:
    assert sent(TAGS | {"default": ["a"]}, []) == {"f": []}


def test_too_few_choices_are_refused_when_the_list_is_required() -> None:
    assert refused(TAGS | {"minItems": 2}, ["a"], required=True) == "Choose at least 2."
    assert refused(TAGS | {"minItems": 1}, None, required=True) == "Choose at least 1."


def test_several_integers_are_sent_as_integers() -> None:
    assert sent({"type": "array", "items": {"enum": [1, 2, 3]}}, ["3", "1"]) == {"f": [3, 1]}


def test_a_value_outside_the_list_of_several_is_refused() -> None:
    refused(TAGS, ["a", "z"])


@pytest.mark.parametrize(
    "items",
    [{}, {"type": "string"}, {"type": "object"}, {"enum": []}, True, "string", [{"const": 1}]],
)
def test_a_list_without_choices_cannot_be_a_form(items: Any) -> None:
    unrenderable({"type": "array", "items": items})


def test_where_one_value_is_wanted_the_last_one_posted_counts() -> None:
    assert sent({"type": "boolean"}, ["off", "on"]) == {"f": True}
    assert sent({"enum": ["a", "b"]}, ["a", "b"]) == {"f": "b"}


@pytest.mark.parametrize(
    ("part", "suggestion"),
    [
        ({"enum": [1, 2], "default": 2}, "2"),
        ({"enum": [1, 2], "default": "2"}, ""),
        ({"enum": [1, 2], "default": True}, ""),
        ({"type": "boolean", "default": True}, "on"),
        ({"type": "boolean", "default": "yes"}, ""),
        (TAGS | {"default": ["c", "a", "c"]}, ("c", "a")),
        (TAGS | {"default": ["a", "z"]}, ""),
        (TAGS | {"default": ["a", "b"], "maxItems": 1}, ""),
    ],
)
def test_a_default_is_suggested_only_when_it_could_be_answered(
    part: Any, suggestion: str | tuple[str, ...]
) -> None:
    assert shown(part).suggestion == suggestion
