"""References, unions, types, names and conditions."""

from typing import Any

import pytest

from approvals.schema_form import FORM_ERRORS, Answer, Refused, Unrenderable, answer, fields
from tests.approvals_pure.asking import refused, sent, shown, unrenderable

TEXT = {"type": "string"}


def test_a_chain_of_references_is_followed() -> None:
    definitions = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/C"}, "C": {"enum": ["x"]}}
    assert sent({"$ref": "#/$defs/A"}, "x", **{"$defs": definitions}) == {"f": "x"}


def test_a_reference_may_be_escaped_as_a_json_pointer() -> None:
    definitions = {"a/b~c%": {"type": "integer"}}
    assert sent({"$ref": "#/$defs/a~1b~0c%25"}, "1", **{"$defs": definitions}) == {"f": 1}


def test_a_reference_by_anchor_or_by_the_documents_own_name_is_local() -> None:
    root: dict[str, Any] = {
        "$id": "https://schemas.example/form",
        "$defs": {"N": {"$anchor": "number", "type": "integer"}},
    }
    assert sent({"$ref": "#number"}, "1", **root) == {"f": 1}
    assert sent({"$ref": "https://schemas.example/form#/$defs/N"}, "1", **root) == {"f": 1}


def test_what_stands_beside_a_reference_counts_as_well() -> None:
    part = {"$ref": "#/$defs/T", "minLength": 3, "title": "Mine"}
    root = {"$defs": {"T": {"type": "string", "minLength": 1, "title": "Theirs"}}}
    refused(part, "ab", **root)
    assert shown(part, **root).label == "Mine"


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/A", "#/$defs/none", "#nothing", "other.json", "#/$defs/A/x/0", 5, "http://x/#/y"],
)
def test_a_reference_in_a_circle_or_to_nowhere_cannot_be_a_form(reference: Any) -> None:
    root = {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"allOf": [{"$ref": "#/$defs/A"}]}}}
    unrenderable({"$ref": reference}, **root)


@pytest.mark.parametrize("key", ["$dynamicRef", "$recursiveRef", "patternProperties", "$id"])
def test_what_a_flat_form_has_no_use_for_cannot_be_a_form(key: str) -> None:
    assert key in unrenderable(TEXT | {key: "#x"})


def test_all_of_one_is_that_one() -> None:
    assert sent({"allOf": [{"type": "integer"}]}, "1") == {"f": 1}


def test_all_of_several_tightens_the_bounds() -> None:
    part = {"allOf": [{"type": "number", "minimum": 1}, {"type": "integer", "minimum": 5}]}
    refused(part, "4")
    assert sent(part, "5") == {"f": 5}


def test_parts_that_contradict_each_other_cannot_be_a_form() -> None:
    unrenderable({"allOf": [{"type": "string"}, {"type": "boolean"}]})
    unrenderable({"allOf": [{"pattern": "a"}, {"pattern": "b"}]})


def test_the_form_itself_may_be_a_reference() -> None:
    schema = {
        "$ref": "#/$defs/F",
        "$defs": {"F": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    }
    assert answer(schema, {"n": "1"}) == Answer({"n": 1})


@pytest.mark.parametrize(
    "part",
    [
        {"type": ["string", "null"]},
        {"anyOf": [TEXT, {"type": "null"}]},
        {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/T"}], "default": None},
    ],
)
def test_a_nullable_text_sends_null_only_when_it_must_send_something(part: Any) -> None:
    root = {"$defs": {"T": TEXT}}
    assert sent(part, "x", **root) == {"f": "x"}
    assert sent(part, "", **root) == {}
    assert sent(part, "", required=True, **root) == {"f": None}


def test_a_nullable_choice_keeps_its_choices() -> None:
    part = {"anyOf": [{"$ref": "#/$defs/E"}, {"type": "null"}]}
    root = {"$defs": {"E": {"enum": ["a", "b"]}}}
    assert [choice.value for choice in shown(part, **root).choices] == ["a", "b"]
    refused(part, "c", **root)


def test_a_list_of_values_without_null_has_no_null_whatever_its_type_says() -> None:
    refused({"type": ["string", "null"], "enum": ["a"]}, "", required=True)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({}, "1"),
        (True, "1"),
        ({"minLength": 1}, "1"),
        ({"minimum": 0}, 1),
        ({"default": 5}, 1),
        ({"default": True}, True),
        ({"type": ["integer", "number"]}, 1),
        ({"type": ["integer", "string"]}, "1"),
    ],
)
def test_a_missing_type_is_read_from_the_rest(part: Any, value: Any) -> None:
    found = sent(part, "1")["f"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object"},
        {"properties": {}},
        {"type": "String"},
        {"type": []},
        {"type": [5]},
        {"type": {"a": 1}},
        {"type": ["boolean", "integer"]},
        {"anyOf": [TEXT, {"type": "integer"}]},
        {"anyOf": "x"},
        {"oneOf": [{"const": "a"}, TEXT]},
        "string",
        [],
        5,
    ],
)
def test_what_has_no_control_cannot_be_a_form(part: Any) -> None:
    unrenderable(part)


@pytest.mark.parametrize("schema", [None, True, False, [], "x", 5, 1.5, {"type": "array"}])
def test_what_is_no_object_schema_cannot_be_a_form(schema: Any) -> None:
    assert isinstance(answer(schema, {}), Unrenderable)


@pytest.mark.parametrize("word", ["title", "description", "default"])
def test_a_text_that_every_field_refers_to_does_not_fill_the_page(word: str) -> None:
    """Of 200 kB that came, the page had 200 MB."""
    properties = {f"f{n}": {"$ref": "#/$defs/T"} for n in range(20)}
    long = {"T": {"type": "string", word: "x" * 100_000}}
    found = fields({"type": "object", "properties": properties, "$defs": long})
    assert found == Unrenderable("The server's schema has more text than a form can show.")


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": ["object", "null"]}])
def test_a_schema_without_fields_is_approve_or_decline(schema: Any) -> None:
    assert answer(schema, {"x": "y"}) == Answer({})
    assert fields(schema) == ()


@pytest.mark.parametrize("required", [["f", "zz"], "f", [1], {"f": True}])
def test_requiring_what_nobody_can_fill_in_cannot_be_a_form(required: Any) -> None:
    schema = {"type": "object", "properties": {"f": TEXT}, "required": required}
    assert isinstance(answer(schema, {"f": "x"}), Unrenderable)


def test_a_field_that_allows_nothing_is_left_out_unless_it_is_required() -> None:
    assert sent(False, "x") == {}
    unrenderable(False, required=True)


@pytest.mark.parametrize(
    "name", ["", "__proto__", "csrfmiddlewaretoken", "a.b c", "ż", "a\nb", "__all__", "$ref"]
)
def test_any_name_that_can_be_sent_is_a_field(name: str) -> None:
    schema = {"type": "object", "properties": {name: TEXT}, "required": [name]}
    assert answer(schema, {name: "x"}) == Answer({name: "x"})


@pytest.mark.parametrize("name", ["a\x00b", "\ud800"])
def test_a_name_that_cannot_be_kept_or_sent_cannot_be_a_form(name: str) -> None:
    schema = {"type": "object", "properties": {name: TEXT}}
    assert isinstance(answer(schema, {name: "x"}), Unrenderable)


def test_titles_and_descriptions_of_another_type_are_ignored() -> None:
    field = shown({"type": "string", "title": 5, "description": ["x"]})
    assert (field.label, field.help) == ("F", "")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("first_name", "First name"),
        ("dueDate", "Due date"),
        ("API-URL", "API URL"),
        ("", "Unnamed field"),
    ],
)
def test_a_field_without_a_title_is_called_by_its_name_in_words(name: str, label: str) -> None:
    found = fields({"type": "object", "properties": {name: TEXT}})
    assert isinstance(found, tuple)
    assert found[0].label == label


TWO: dict[str, Any] = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}


def test_a_field_that_another_one_makes_necessary_is_asked_for() -> None:
    found = answer(TWO | {"dependentRequired": {"a": ["b"]}}, {"a": "x"})
    assert isinstance(found, Refused)
    assert list(found.errors) == ["b"]


@pytest.mark.parametrize(
    "rule",
    [
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"minProperties": 1},
        {"not": {"maxProperties": 0}},
    ],
)
def test_a_rule_over_several_fields_is_checked_on_the_whole_answer(rule: Any) -> None:
    found = answer(TWO | rule, {})
    assert isinstance(found, Refused)
    assert list(found.errors) == [FORM_ERRORS]
    assert answer(TWO | rule, {"b": "x"}) == Answer({"b": "x"})


@pytest.mark.parametrize(
    "rule",
    [
        {"anyOf": [{"required": ["c"]}]},
        {"if": {"properties": {"a": {"const": "x"}}}, "then": {"properties": {"c": TEXT}}},
        {"oneOf": [{"$ref": "#/$defs/X"}]},
    ],
)
def test_a_rule_that_asks_for_fields_not_in_the_form_cannot_be_a_form(rule: Any) -> None:
    assert isinstance(answer(TWO | rule, {"a": "x"}), Unrenderable)


def test_rules_of_a_field_that_have_no_control_are_still_checked() -> None:
    refused({"type": "string", "not": {"const": "x"}}, "x")
    refused({"type": "array", "items": {"enum": ["a", "b"]}, "contains": {"const": "a"}}, ["b"])


def test_closing_the_object_does_not_stop_its_own_fields() -> None:
    assert sent(TEXT, "x", additionalProperties=False, unevaluatedProperties=False) == {"f": "x"}
