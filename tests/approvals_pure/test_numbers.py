import json

import pytest

from tests.approvals_pure.asking import refused, sent, shown, unrenderable

INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("3.0", "3"),
        ("1e3", "1000"),
        ("-0", "0"),
        (" 5 ", "5"),
        ("+5", "5"),
        ("007", "7"),
        ("9007199254740993", "9007199254740993"),
        ("-9" * 1 + "9" * 300, "-9" * 1 + "9" * 300),
    ],
)
def test_a_whole_number_is_sent_as_exactly_that_integer(typed: str, value: str) -> None:
    for part in (INTEGER, NUMBER):
        assert json.dumps(sent(part, typed)["f"]) == value


@pytest.mark.parametrize("typed", [".5", "0.5", "5e-1", "0.50"])
def test_a_fraction_is_sent_as_a_number(typed: str) -> None:
    assert json.dumps(sent(NUMBER, typed)) == '{"f": 0.5}'


@pytest.mark.parametrize(
    "typed",
    ["NaN", "Infinity", "-inf", "١٢", "1_000", "0x10", "1,5", "1 000", "--1", "e5", "1e", "true"],
)
def test_what_is_not_a_decimal_number_is_refused(typed: str) -> None:
    refused(INTEGER, typed)
    refused(NUMBER, typed)


@pytest.mark.parametrize("typed", ["1e400", "-1e400", "1.8e308", "9" * 310, "9" * 5000, "1e99999"])
def test_a_number_beyond_every_double_is_refused(typed: str) -> None:
    assert "too l" in refused(INTEGER, typed)
    assert "too l" in refused(NUMBER, typed)


@pytest.mark.parametrize("typed", ["0.30000000000000000001", "1e-400", "9007199254740993.5"])
def test_a_fraction_that_would_become_another_number_is_refused(typed: str) -> None:
    assert "exactly" in refused(NUMBER, typed)


def test_a_fraction_is_refused_where_a_whole_number_is_asked() -> None:
    assert "whole" in refused(INTEGER, "3.5")


def test_exclusive_bounds_exclude_the_bound_itself() -> None:
    part = INTEGER | {"exclusiveMinimum": 0, "exclusiveMaximum": 3}
    assert refused(part, "0") == "Enter more than 0."
    assert refused(part, "3") == "Enter less than 3."
    assert sent(part, "1") == {"f": 1}


def test_the_older_boolean_exclusive_minimum_excludes_the_minimum() -> None:
    part = INTEGER | {"minimum": 0, "exclusiveMinimum": True}
    refused(part, "0")
    assert sent(part, "1") == {"f": 1}


def test_a_multiple_is_judged_by_its_decimal_digits() -> None:
    part = NUMBER | {"multipleOf": 0.1}
    assert sent(part, "0.3") == {"f": 0.3}
    assert refused(part, "0.35") == "Enter a multiple of 0.1."


def test_a_bound_of_null_is_no_bound() -> None:
    assert sent(INTEGER | {"minimum": None, "maximum": None}, "-5") == {"f": -5}


def test_bounds_that_no_number_meets_refuse_every_number_and_still_allow_none() -> None:
    part = INTEGER | {"minimum": 5, "maximum": 1}
    refused(part, "3")
    assert sent(part, "") == {}


@pytest.mark.parametrize("bound", ["5", True, [], float("inf"), float("nan")])
def test_a_bound_that_is_no_number_cannot_be_a_form(bound: object) -> None:
    assert "minimum" in unrenderable(INTEGER | {"minimum": bound})


@pytest.mark.parametrize("step", [0, -1])
def test_a_multiple_of_nothing_cannot_be_a_form(step: int) -> None:
    assert "multipleOf" in unrenderable(NUMBER | {"multipleOf": step})


def test_spaces_alone_are_an_empty_number() -> None:
    assert sent(INTEGER, "  ") == {}
    refused(INTEGER, "  ", required=True)


@pytest.mark.parametrize(("default", "posted"), [(0, "0"), (5.0, "5"), (0.25, "0.25"), (-3, "-3")])
def test_a_numeric_default_is_suggested_as_it_is_typed(default: float, posted: str) -> None:
    assert shown(NUMBER | {"default": default}).suggestion == posted


@pytest.mark.parametrize("default", [11, "5", True, 0.5, float("nan"), 10**400])
def test_an_impossible_default_suggests_nothing(default: object) -> None:
    assert shown(INTEGER | {"maximum": 10, "default": default}).suggestion == ""
